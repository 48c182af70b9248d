"""Why something about a kernel can't be done; each carries a finished sentence for the person."""

from __future__ import annotations


class KernelError(Exception):
    """A request that can't be met now. ``str()`` is a sentence that may be shown as it is."""


class KernelGone(KernelError):
    """This server has no such kernel, or it ended in the meantime."""

    def __init__(self, text: str = "This kernel has ended, so its memory was returned.") -> None:
        super().__init__(text)


class KernelBusy(KernelError):
    """A cell is running, and what was asked for needs an idle kernel."""

    def __init__(self) -> None:
        super().__init__(
            "Memory can't be freed safely while a cell runs. "
            "Wait until it is idle, interrupt it, or restart the kernel."
        )


class NoAnswer(KernelError):
    """The kernel can't be reached from inside: not ipykernel, or not answering."""


class RunInProgress(KernelError):
    """One run at a time changes a kernel."""

    def __init__(self) -> None:
        super().__init__(
            "This kernel's memory is being freed already. Wait for that run to finish."
        )


class NothingToStop(KernelError):
    """No run waits or goes on in this kernel."""

    def __init__(self) -> None:
        super().__init__("Nothing is being freed in this kernel, so there is nothing to stop.")


class LastStep(KernelError):
    """The run can't be stopped any more."""

    def __init__(self) -> None:
        super().__init__(
            "The last step is under way already. It can't be stopped half-way; its result comes "
            "in a moment."
        )


class NotAllowed(KernelError):
    """The operator of this server doesn't allow it."""


class NotOffered(KernelError):
    """A remedy that this kernel or this version doesn't have, or that makes no sense as asked."""


class NotYours(KernelError):
    """A process that may not be ended from here."""
