"""One run of remedies on one kernel: each step measured before and after, none lost by another."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from .. import __version__, wire
from ..format import gib
from . import inside, lifecycle
from .answers import RemedyDone
from .channel import KernelChannel
from .errors import KernelBusy, KernelError, KernelGone
from .figures import LastMeasured, Measured, cached, live
from .known import KnownKernel
from .lifecycle import KernelRefused, OldProcesses, Read
from .plan import ENDS_PROCESS, Situation, expected, why_remains
from .registry import KernelRegistry

RETURN_LIMIT = 1.0
"""Seconds that the driver gets to notice what a framework gave back."""

SETTLE = 5
"""Tenths of a second after which a cell still runs, and hasn't just ended: the server learns of the
end a little later than whoever ran it."""

Progress = Callable[[wire.Report], None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What plans and runs work with."""

    registry: KernelRegistry
    channel: KernelChannel
    read: Read
    measured: LastMeasured

    async def look(self, kernel: KnownKernel) -> Measured:
        """The kernel's own figures, kept for the next snapshots.

        Raises: as ``inside.look``.
        """
        # one that was asked before would answer while a cell runs
        for _ in range(SETTLE):
            if (await self.registry.get(kernel.id)).state != "busy":
                break
            await asyncio.sleep(0.1)
        else:
            raise KernelBusy()
        figures = await inside.look(self.channel, kernel.id)
        self.measured.put(kernel, figures)
        return figures

    async def situation(self, kernel: KnownKernel, figures: Measured | None = None) -> Situation:
        """What it holds now, with ``figures`` if they were measured just before.

        Raises:
            KernelGone
        """
        now = Situation.of(await self.read(), kernel.id, figures)
        if now is None:
            raise KernelGone()
        return now


class Run:
    """Runs ``steps`` in the order given and reports after each."""

    def __init__(
        self,
        kernel: KnownKernel,
        steps: Sequence[wire.RemedyId],
        tools: Tools,
        progress: Progress,
    ) -> None:
        self._kernel = kernel
        self._tools = tools
        self._progress = progress
        self._report = wire.Report(
            version=__version__,
            kernel_id=kernel.id,
            run_id=uuid.uuid4().hex,
            finished=False,
            at=time.time(),
            steps=[wire.Step(id=step) for step in steps],
        )

    def tell(self, text: str | None = None) -> wire.Report:
        """Report how far it is; ``text`` is about the step that comes next."""
        report = copy.deepcopy(self._report)
        report.at = time.time()
        if text is not None:
            next(step for step in report.steps if step.ok is None).text = text
        self._progress(report)
        return report

    def give_up(self, why: str) -> wire.Report:
        """Finish with every step that has not run yet marked so."""
        for step in self._report.steps:
            if step.ok is None:
                step.ok, step.text = False, f"Not run. {why}"
        self._report.finished = True
        return self.tell()

    async def execute(self, figures: Measured | None) -> wire.Report:
        """Run every step; one that fails is reported, and the next is tried.

        Args:
            figures: the kernel's own, if it was asked just before.

        Raises:
            KernelGone: before the first step.
        """
        steps = self._report.steps
        before = await self._tools.situation(self._kernel, figures)
        self._report.expected = expected(before, {step.id for step in steps})
        for step in steps:
            self.tell("Working…")
            started = time.monotonic()
            try:
                await self._step(step)
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
        self._report.freed = _freed(steps)
        self._report.remains = await self._remains()
        return self.give_up("The kernel has ended.")

    async def _step(self, step: wire.Step) -> None:
        if step.id == "interrupt":
            await self._interrupt(step)
        elif step.id in ENDS_PROCESS:
            await self._end_process(step)
        elif step.id == "collect" or step.id == "release-cache":
            await self._in_kernel(step, step.id)
        else:
            raise ValueError(step.id)

    async def _in_kernel(self, step: wire.Step, op: Literal["collect", "release-cache"]) -> None:
        await self._tools.look(self._kernel)
        before = (await self._tools.situation(self._kernel)).kernel.bytes
        done = await self._tools.channel.remedy(self._kernel.id, op)
        if not isinstance(done, RemedyDone):
            raise inside.refusal(done)
        was, is_now = inside.measured(done.before), inside.measured(done.after)
        now = await self._noticed(before, _less(_reserved(was), _reserved(is_now)))
        self._tools.measured.put(self._kernel, inside.with_context(is_now, now.own))
        if before is not None and now.kernel.bytes is not None:
            step.freed_by, step.before, step.after = "driver", before, now.kernel.bytes
        elif is_now.frameworks:
            step.freed_by = "framework"
            step.before, step.after = _reserved(was), _reserved(is_now)
        step.ok = done.ok
        step.freed = _less(step.before, step.after)
        step.text = _words(op, was, is_now, step.freed) if done.ok else done.text

    async def _noticed(self, before: int | None, returned: int | None) -> Situation:
        """The situation once the driver shows what the framework gave back, or a little later."""
        deadline = time.monotonic() + RETURN_LIMIT
        while True:
            now = await self._tools.situation(self._kernel)
            after = now.kernel.bytes
            shown = before is None or after is None or before - after >= (returned or 0)
            if shown or time.monotonic() > deadline:
                return now
            await asyncio.sleep(RETURN_LIMIT / 5)

    async def _interrupt(self, step: wire.Step) -> None:
        if (await self._tools.registry.get(self._kernel.id)).state == "idle":
            step.ok, step.text = True, "No cell was running any more."
        elif await lifecycle.interrupt(self._tools.registry, self._kernel):
            step.ok, step.text = True, "The running cell was stopped. Variables stay."
        else:
            step.ok = False
            step.text = (
                f"The kernel did not stop within {lifecycle.INTERRUPT_LIMIT:.0f} s: its code "
                "doesn't listen to interrupts. Restart the kernel to get the memory back."
            )

    async def _end_process(self, step: wire.Step) -> None:
        registry = self._tools.registry
        snapshot = await self._tools.read()
        before = Situation.of(snapshot, self._kernel.id)
        if before is None:
            raise KernelGone()
        step.before = before.kernel.bytes
        old = await OldProcesses.of(self._kernel, before.holders)
        if step.id == "restart":
            await lifecycle.restart(registry, self._kernel)
            done = "The kernel was restarted"
        else:
            await lifecycle.shut_down(registry, self._kernel)
            done = "The kernel was shut down"
        self.tell("Checking that the memory is back…")
        left = await old.memory_returned(self._tools.read)
        step.ok, step.after = True, left.bytes
        step.freed = _less(step.before, step.after)
        step.freed_by = None if step.freed is None else "driver"
        self._report.survivors = [
            wire.Survivor(
                pid=row.pid,
                started_at=row.started_at,
                name=row.name,
                gpu=row.gpu,
                bytes=row.bytes,
            )
            for row in left.rows
        ]
        step.text = _words_of_end(done, step, len({row.pid for row in left.rows}))

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


def _reserved(figures: Measured) -> int | None:
    in_use, kept = live(figures.frameworks), cached(figures.frameworks)
    return None if in_use is None or kept is None else in_use + kept


def _less(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, before - after)


def _freed(steps: Sequence[wire.Step]) -> int | None:
    """All steps together; by the driver where it tells, else by the framework."""
    for source in ("driver", "framework"):
        told = [step.freed for step in steps if step.freed_by == source and step.freed is not None]
        if told:
            return sum(told)
    return None


def _words(op: str, was: Measured, now: Measured, freed: int | None) -> str | None:
    if not was.frameworks:
        return None if freed else "No framework that was recognised uses the GPU in this kernel."
    if op == "collect":
        dropped = _less(live(was.frameworks), live(now.frameworks))
        if not dropped:
            return "No forgotten objects held GPU memory."
        return f"{gib(dropped)} of forgotten objects can be reused now, or released."
    kept = cached(now.frameworks)
    if kept:
        return f"{gib(kept)} stays cached: it shares blocks with what is in use."
    return "Nothing was cached." if cached(was.frameworks) == 0 else None


def _words_of_end(done: str, step: wire.Step, survivors: int) -> str:
    if survivors:
        who = "a process" if survivors == 1 else f"{survivors} processes"
        return f"{done}, but {gib(step.after)} stays with {who} it had started."
    if step.freed is None:
        return f"{done}. The driver doesn't say how much memory came back."
    return f"{done}."
