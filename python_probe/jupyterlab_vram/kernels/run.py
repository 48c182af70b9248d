"""One run of remedies on one kernel: each step measured before and after, none lost by another."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from .. import __version__, wire
from . import in_kernel, outside
from .errors import KernelError, KernelGone, LastStep
from .figures import Measured
from .gains import ENDS_PROCESS, expected
from .known import KnownKernel
from .lifecycle import KernelRefused
from .offers import IN_KERNEL
from .plan import why_remains
from .tools import Tools

Progress = Callable[[wire.Report], None]

STOPPED = "You stopped it."

_log = logging.getLogger(__name__)


class Run:
    """Runs ``steps`` in the order given and reports after each.

    Args:
        started: pid to start time of the processes that the steps end.
        progress: gets every report; it must not block.
    """

    def __init__(
        self,
        kernel: KnownKernel,
        steps: Sequence[wire.RunStep],
        started: Mapping[int, float],
        tools: Tools,
        progress: Progress,
    ) -> None:
        self.steps = steps
        self.stopped = asyncio.Event()
        self._kernel = kernel
        self._started = started
        self._tools = tools
        self._progress = progress
        self._current: wire.Step | None = None
        self._report = wire.Report(
            version=__version__,
            kernel_id=kernel.id,
            run_id=uuid.uuid4().hex,
            finished=False,
            at=time.time(),
            steps=[wire.Step(id=step.id) for step in steps],
        )

    def wait(self) -> None:
        """Tell that it waits for the kernel to be idle."""
        self._report.waiting = True
        self.tell("Waits until the running cell has finished.")

    def begin(self) -> None:
        """It waits no longer."""
        self._report.waiting = False

    def tell(self, text: str | None = None) -> wire.Report:
        """Report how far it is; ``text`` is about the step under way or the next."""
        report = copy.deepcopy(self._report)
        report.at = time.time()
        if text is not None:
            next(step for step in report.steps if step.ok is None).text = text
        self._progress(report)
        return report

    def stop(self) -> wire.Report:
        """Run no further step; the one under way is finished.

        Raises:
            LastStep: none is left.
        """
        if not self._skip(STOPPED, but=self._current):
            raise LastStep()
        self.stopped.set()
        if self._report.waiting:
            return self._finish()
        return self.tell()

    def give_up(self, why: str) -> wire.Report:
        """Finish with every step that has not run yet marked so."""
        if self._current is not None and self._current.ok is None:
            self._current.ok, self._current.text = False, f"Not finished. {why}"
        self._skip(why)
        return self._finish()

    async def execute(self, figures: Measured | None) -> wire.Report:
        """Run every step; one that fails is reported, and the next is tried.

        Args:
            figures: the kernel's own, if it was asked just before.

        Raises:
            KernelGone: before the first step.
        """
        insight = self._tools.insights.last(self._kernel)
        before = await self._tools.situation(self._kernel, figures, insight)
        self._report.expected = expected(before, self.steps)
        for asked, step in zip(self.steps, self._report.steps, strict=True):
            if step.ok is not None:
                break  # it was stopped
            self._current = step
            self.tell("Working…")
            started = time.monotonic()
            try:
                await self._step(asked, step)
            except KernelGone as gone:
                step.ok, step.text = False, str(gone)
                break
            except (KernelError, KernelRefused) as error:
                step.ok, step.text = False, str(error)
            except Exception:  # noqa: BLE001 - the other steps must not be lost by it
                _log.exception("The step %s failed.", step.id)
                step.ok = False
                step.text = "This step failed unexpectedly; the server's log says where."
            finally:
                step.seconds = time.monotonic() - started
        self._report.freed = _freed(self._report.steps)
        self._report.remains = await self._remains()
        return self.give_up("The kernel has ended.")

    async def _step(self, asked: wire.RunStep, step: wire.Step) -> None:
        if asked.id in IN_KERNEL:
            await in_kernel.run(self._tools, self._kernel, asked, step)
        elif asked.id == "interrupt":
            await outside.interrupt(self._tools, self._kernel, step)
        elif asked.id == "end-children":
            self._report.survivors = await outside.end_children(
                self._tools, self._kernel, self._started, step
            )
        elif asked.id in ENDS_PROCESS:
            old = await outside.end_process(self._tools, self._kernel, asked, step, self.tell)
            self.tell("Checking that the memory is back…")
            self._report.survivors = await outside.see_it_returned(self._tools, old, step)
        else:
            raise ValueError(asked.id)

    def _skip(self, why: str, but: wire.Step | None = None) -> int:
        """Mark what has not run yet, except ``but``; how many steps that are."""
        left = [step for step in self._report.steps if step.ok is None and step is not but]
        for step in left:
            step.ok, step.text = False, f"Not run. {why}"
        return len(left)

    def _finish(self) -> wire.Report:
        self._report.finished, self._report.waiting = True, False
        return self.tell()

    async def _remains(self) -> wire.Remains:
        for step in self._report.steps:
            if step.ok and step.id in ENDS_PROCESS:
                why = "Processes that the kernel had started still run." if step.after else None
                return wire.Remains(bytes=step.after, why=why)
        try:
            now = await self._tools.situation(self._kernel)
        except KernelGone as gone:
            return wire.Remains(bytes=0, why=str(gone))
        return wire.Remains(bytes=now.kernel.bytes, why=why_remains(now))


def _freed(steps: Sequence[wire.Step]) -> int | None:
    """All steps together; by the driver where it tells, else by the framework."""
    for source in ("driver", "framework"):
        told = [step.freed for step in steps if step.freed_by == source and step.freed is not None]
        if told:
            return sum(told)
    return None
