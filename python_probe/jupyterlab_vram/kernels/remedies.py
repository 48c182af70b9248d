"""The door to a kernel's memory: what can be done, and doing it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .. import wire
from . import inside
from .channel import KernelChannel
from .errors import (
    KernelBusy,
    KernelError,
    KernelGone,
    NoAnswer,
    NotAllowed,
    NotOffered,
    RunInProgress,
)
from .figures import LastMeasured, Measured
from .inside import NotAnswering
from .known import KnownKernel
from .lifecycle import Read
from .plan import ENDS_PROCESS, IN_KERNEL, PlanState, make_plan
from .registry import KernelRegistry
from .run import Progress, Run, Tools

LOOK = 0.5
"""Seconds between two looks at whether a kernel is idle."""

IDLE_LIMIT = 6 * 3600.0
"""Seconds that a run waits for an idle kernel before it gives up."""

ORDER: tuple[wire.RemedyId, ...] = ("interrupt", "collect", "release-cache", "restart", "shutdown")
"""Gentle to drastic, except that what needs an idle kernel comes after the interrupt."""


class Remedies:
    """Plans and runs for all kernels of one server. Belongs to its event loop.

    Args:
        read: a fresh reading of the driver, with this server's kernels.
        measured: where figures from inside kernels are kept for later snapshots.
    """

    def __init__(
        self,
        registry: KernelRegistry,
        channel: KernelChannel,
        read: Read,
        measured: LastMeasured,
        *,
        allow_code_in_kernels: bool = True,
        read_only: bool = False,
    ) -> None:
        self._tools = Tools(registry=registry, channel=channel, read=read, measured=measured)
        self._allow_code = allow_code_in_kernels
        self._read_only = read_only
        self._running: set[str] = set()
        self._waiting: set[str] = set()

    async def plan(self, kernel_id: str, *, look_inside: bool = True) -> wire.Plan:
        """What can be done about a kernel's memory. Changes nothing that a person made.

        An idle ipykernel is asked itself, and gets our agent for that the first time.

        Args:
            look_inside: False if the person may not run code in kernels.

        Raises:
            KernelGone
        """
        kernel = await self._tools.registry.get(kernel_id)
        state, text, figures = await self._look(kernel, look_inside)
        now = await self._tools.situation(kernel, figures)
        if figures is not None:
            figures = inside.with_context(figures, now.own)
            self._tools.measured.put(kernel, figures)
            now.kernel.frameworks = figures.frameworks
        return make_plan(now, state, text, read_only=self._read_only)

    async def run(
        self, kernel_id: str, request: wire.RunRequest, progress: Progress
    ) -> wire.Report:
        """Run remedies, gentle to drastic whatever their order in the request.

        Args:
            progress: gets a report after each step, and the finished one; it must not block.

        Raises:
            NotAllowed, NotOffered: nothing was done, nor would it ever be.
            KernelGone, KernelBusy, NoAnswer, RunInProgress: nothing was done.
        """
        steps = self._ordered(request)
        kernel = await self._tools.registry.get(kernel_id)
        run = Run(kernel, steps, self._tools, progress)
        if request.when == "now":
            return await self._execute(run, kernel, steps)
        with _only_one(self._waiting, kernel_id):
            run.tell("Waits until the running cell has finished.")
            try:
                await self._until_idle(kernel)
                return await self._execute(run, kernel, steps)
            except KernelError as error:
                return run.give_up(str(error))
            except asyncio.CancelledError:
                run.give_up("The server was stopped.")
                raise

    async def _execute(
        self, run: Run, kernel: KnownKernel, steps: list[wire.RemedyId]
    ) -> wire.Report:
        with _only_one(self._running, kernel.id):
            figures = None
            if set(steps) <= IN_KERNEL:
                figures = await self._tools.look(kernel)  # what can't begin is refused as a whole
            return await run.execute(figures)

    def _ordered(self, request: wire.RunRequest) -> list[wire.RemedyId]:
        ids = [step.id for step in request.remedies]
        if self._read_only:
            raise NotAllowed("On this server GPU memory is only shown, not freed.")
        for remedy in ids:
            if remedy not in ORDER:
                raise NotOffered(f"“{remedy}” is not offered by this version.")
        for step in request.remedies:
            # no remedy of this version takes any; running it without what was asked for is another
            if (step.names, step.pids, step.place, step.budget) != (None,) * 4:
                raise NotOffered(
                    f"“{step.id}” takes no names, processes, place or budget in this version."
                )
        if len(set(ids)) < len(ids):
            raise NotOffered("A step was asked for twice.")
        if set(ids) >= ENDS_PROCESS:
            raise NotOffered("A kernel can be restarted or shut down, not both.")
        if not self._allow_code and set(ids) & IN_KERNEL:
            raise NotAllowed("This server doesn't allow running code in kernels to free memory.")
        return sorted(ids, key=ORDER.index)

    async def _look(
        self, kernel: KnownKernel, look_inside: bool
    ) -> tuple[PlanState, str | None, Measured | None]:
        """State, its sentence and, where the kernel answers, its own figures."""
        if kernel.state == "dead":
            return "gone", "The kernel has died. Restart it, or shut it down.", None
        if not self._allow_code:
            return "no-agent", "This server doesn't allow looking into kernels.", None
        if not look_inside:
            return "no-agent", "You lack the right to run code in kernels.", None
        if kernel.host is not None:
            text = "This kernel runs on another computer: it can only be restarted or shut down."
            return "no-agent", text, None
        try:
            return "idle", None, await self._tools.look(kernel)
        except KernelBusy as error:
            return "busy", str(error), await inside.look_again(self._tools.channel, kernel.id)
        except NotAnswering as error:
            return "silent", str(error), None
        except NoAnswer as error:
            return "no-agent", str(error), None

    async def _until_idle(self, kernel: KnownKernel) -> None:
        """
        Raises:
            KernelGone: it ended or was restarted, so that there is nothing left to free.
            KernelBusy: it was never idle.
        """
        deadline = time.monotonic() + IDLE_LIMIT
        while time.monotonic() < deadline:
            now = await self._tools.registry.get(kernel.id)
            if now.process != kernel.process:
                raise KernelGone("The kernel was restarted meanwhile, which freed its memory.")
            # one whose first messages were missed counts as starting until it is used
            if now.state in ("idle", "starting") and kernel.id not in self._running:
                return
            await asyncio.sleep(LOOK)
        raise KernelBusy()


@contextmanager
def _only_one(kernels: set[str], kernel_id: str) -> Iterator[None]:
    """
    Raises:
        RunInProgress: another one is at it.
    """
    if kernel_id in kernels:
        raise RunInProgress()
    kernels.add(kernel_id)
    try:
        yield
    finally:
        kernels.discard(kernel_id)
