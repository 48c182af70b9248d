"""The door to a kernel's memory: what can be done, and doing it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .. import wire
from . import asked, inside
from .answers import Figures, NoAgent, Silent, Unanswered
from .channel import KernelChannel
from .errors import (
    KernelBusy,
    KernelError,
    KernelGone,
    LastStep,
    NoAnswer,
    NothingToStop,
    RunInProgress,
)
from .figures import LastMeasured, Measured
from .inside import NotAnswering
from .insight import Insights
from .known import KnownKernel
from .lifecycle import Read
from .offers import IN_KERNEL, PlanState, Rules
from .plan import make_plan
from .registry import KernelRegistry
from .run import Progress, Run
from .situation import NO_INSIGHT
from .tools import Tools

LOOK = 0.5
"""Seconds between two looks at whether a kernel is idle."""

IDLE_LIMIT = 6 * 3600.0
"""Seconds that a run waits for an idle kernel before it gives up."""

WAITS = (
    "Its memory is freed as soon as the running cell has finished, also if you close the browser."
)


class Remedies:
    """Plans and runs for all kernels of one server. Belongs to its event loop.

    Args:
        read: a fresh reading of the driver, with this server's kernels.
        measured: where figures from inside kernels are kept for later snapshots.
        rules: what the operator allows.
        park_ticked: whether plans open with parking ticked; asked for each.
    """

    def __init__(
        self,
        registry: KernelRegistry,
        channel: KernelChannel,
        read: Read,
        measured: LastMeasured,
        *,
        rules: Rules | None = None,
        park_ticked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._tools = Tools(
            registry=registry,
            channel=channel,
            read=read,
            measured=measured,
            insights=Insights(channel),
        )
        self._rules = rules or Rules()
        self._park_ticked = park_ticked
        self._running: dict[str, Run] = {}
        self._waiting: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[wire.Report]] = set()

    async def close(self) -> None:
        """End every run; each says in its report that the server was stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

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
        insight = NO_INSIGHT
        if state == "idle" and figures is not None:
            insight = await self._tools.insights.of(kernel, figures)
        now = await self._tools.situation(kernel, figures, insight)
        if figures is not None:
            figures = inside.with_context(figures, now.own)
            self._tools.measured.put(kernel, figures)
            now.kernel.frameworks = figures.frameworks
        if kernel_id in self._waiting:
            text = " ".join(filter(None, [text, WAITS]))
        return make_plan(now, state, text, rules=self._rules, park_ticked=self._park_ticked())

    async def run(
        self, kernel_id: str, request: wire.RunRequest, progress: Progress
    ) -> wire.Report:
        """Run remedies, gentle to drastic whatever their order in the request.

        It goes on if whoever asked goes away.

        Args:
            progress: gets a report after each step, and the finished one; it must not block.

        Raises:
            NotAllowed, NotOffered: nothing was done, nor would it ever be.
            KernelGone, KernelBusy, NoAnswer, RunInProgress: nothing was done.
        """
        steps = asked.ordered(request, self._rules)
        kernel = await self._tools.registry.get(kernel_id)
        started: dict[int, float] = {}
        if any(step.place is not None or step.pids for step in steps):
            manager = self._tools.registry.kernel_manager.get_kernel(kernel_id)
            started = asked.check_targets(steps, manager, kernel_id, await self._tools.read())
        run = Run(kernel, steps, started, self._tools, progress)
        go = self._execute if request.when == "now" else self._execute_when_idle
        task = asyncio.ensure_future(go(run, kernel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def under_way(self, kernel_id: str) -> frozenset[wire.RemedyId]:
        """The remedies of the runs that wait or go on in a kernel.

        Raises:
            NothingToStop
        """
        runs = self._runs(kernel_id)
        return frozenset(step.id for run in runs for step in run.steps)

    def stop(self, kernel_id: str) -> wire.Report:
        """Cancel the run that waits, and stop the one that goes on after its step under way.

        Raises:
            NothingToStop
            LastStep: there is only a last step under way.
        """
        *others, last = self._runs(kernel_id)
        for run in others:
            with suppress(LastStep):
                run.stop()
        return last.stop()

    def _runs(self, kernel_id: str) -> list[Run]:
        found = [runs[kernel_id] for runs in (self._running, self._waiting) if kernel_id in runs]
        if not found:
            raise NothingToStop()
        return list(dict.fromkeys(found))  # one that waited is in both

    async def _execute(self, run: Run, kernel: KnownKernel) -> wire.Report:
        with _only_one(self._running, kernel.id, run):
            run.begin()
            figures = None
            try:
                if {step.id for step in run.steps} <= IN_KERNEL:
                    # what can't begin is refused as a whole
                    figures = await self._tools.look(kernel)
                return await run.execute(figures)
            except asyncio.CancelledError:
                return run.give_up("The server was stopped.")

    async def _execute_when_idle(self, run: Run, kernel: KnownKernel) -> wire.Report:
        with _only_one(self._waiting, kernel.id, run):
            try:
                deadline = time.monotonic() + IDLE_LIMIT
                while True:
                    run.wait()
                    await self._until_idle(run, kernel, deadline)
                    if run.stopped.is_set():
                        return run.tell()
                    with suppress(KernelBusy):  # the next cell was quicker
                        return await self._execute(run, kernel)
            except KernelError as error:
                return run.give_up(str(error))
            except asyncio.CancelledError:
                return run.give_up("The server was stopped.")

    async def _look(
        self, kernel: KnownKernel, look_inside: bool
    ) -> tuple[PlanState, str | None, Measured | None]:
        """State, its sentence and, where the kernel answers, its own figures."""
        if kernel.state == "dead":
            return "gone", "The kernel has died. Restart it, or shut it down.", None
        if not self._rules.allow_code_in_kernels:
            return "no-agent", "This server doesn't allow looking into kernels.", None
        if not look_inside:
            return "no-agent", "You lack the right to run code in kernels.", None
        if kernel.host is not None:
            text = "This kernel runs on another computer: it can only be restarted or shut down."
            return "no-agent", text, None
        try:
            return "idle", None, await self._tools.look(kernel)
        except KernelBusy as error:
            return await self._look_at_busy(kernel, str(error))
        except NotAnswering as error:
            return "silent", str(error), None
        except NoAnswer as error:
            return "no-agent", str(error), None

    async def _look_at_busy(
        self, kernel: KnownKernel, text: str
    ) -> tuple[PlanState, str | None, Measured | None]:
        """As ``_look``: code that lets nothing else in is told from a running cell."""
        figures = await self._tools.channel.figures(kernel.id)
        if isinstance(figures, Figures):
            return "busy", text, inside.told(figures)
        answer: Unanswered = figures
        if isinstance(figures, NoAgent):
            answer = await self._tools.channel.busy_or_silent(kernel.id)
        if isinstance(answer, Silent):
            return "silent", answer.text, None
        return "busy", text, None

    async def _until_idle(self, run: Run, kernel: KnownKernel, deadline: float) -> None:
        """Wait until nothing happened between two looks: between two cells it is idle, too.

        Raises:
            KernelGone: it ended or was restarted, so that there is nothing left to free.
            KernelBusy: it was never idle.
        """
        idle: tuple[float | None] | None = None
        while time.monotonic() < deadline and not run.stopped.is_set():
            now = await self._tools.registry.get(kernel.id)
            if now.process != kernel.process:
                raise KernelGone("The kernel was restarted meanwhile, which freed its memory.")
            # one whose first messages were missed counts as starting until it is used
            if now.state not in ("idle", "starting") or kernel.id in self._running:
                idle = None
            elif idle == (now.last_activity,):
                return
            else:
                idle = (now.last_activity,)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(run.stopped.wait(), LOOK)
        if not run.stopped.is_set():
            raise KernelBusy()


@contextmanager
def _only_one(runs: dict[str, Run], kernel_id: str, run: Run) -> Iterator[None]:
    """
    Raises:
        RunInProgress: another one is at it.
    """
    if kernel_id in runs:
        raise RunInProgress()
    runs[kernel_id] = run
    try:
        yield
    finally:
        del runs[kernel_id]
