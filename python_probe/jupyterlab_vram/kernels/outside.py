"""The steps that act on processes: interrupt, end children, restart, shut down."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from .. import wire
from ..format import gib
from . import lifecycle, place
from .ending import end
from .errors import KernelGone, NotYours
from .in_kernel import less
from .known import KnownKernel
from .lifecycle import OldProcesses
from .plan import child
from .situation import Situation
from .tools import Tools


async def interrupt(tools: Tools, kernel: KnownKernel, step: wire.Step) -> None:
    """
    Raises:
        KernelGone, KernelRefused
    """
    if (await tools.registry.get(kernel.id)).state == "idle":
        step.ok, step.text = True, "No cell was running any more."
    elif await lifecycle.interrupt(tools.registry, kernel):
        step.ok, step.text = True, "The running cell was stopped. Variables stay."
    else:
        step.ok = False
        step.text = (
            f"The kernel did not stop within {lifecycle.INTERRUPT_LIMIT:.0f} s: its code "
            "doesn't listen to interrupts. Restart the kernel to get the memory back."
        )


async def end_children(
    tools: Tools, kernel: KnownKernel, started: Mapping[int, float], step: wire.Step
) -> list[wire.Survivor]:
    """End these processes, politely first; gives those that still hold memory.

    Args:
        started: pid to start time, as it was when the person chose them.

    Raises:
        KernelGone
    """
    snapshot = await tools.read()
    before = Situation.of(snapshot, kernel.id)
    if before is None:
        raise KernelGone()
    step.before = before.by_driver
    texts = await asyncio.gather(*(_end(pid, at, snapshot) for pid, at in started.items()))
    left = await OldProcesses(dict(started)).memory_returned(tools.read)
    step.after = (await tools.situation(kernel)).by_driver
    step.freed = less(step.before, step.after)
    step.freed_by = None if step.freed is None else "driver"
    step.ok = all(ended for ended, _ in texts) and not left.rows
    step.text = " ".join(dict.fromkeys(text for _, text in texts))
    return [child(row) for row in left.rows]


async def end_process(
    tools: Tools,
    kernel: KnownKernel,
    asked: wire.RunStep,
    step: wire.Step,
    tell: Callable[[str], object],
) -> OldProcesses:
    """Restart or shut down; gives the processes whose memory is to be back soon.

    Args:
        tell: reports the step as it is now.

    Raises:
        KernelGone, KernelRefused
    """
    before = Situation.of(await tools.read(), kernel.id)
    if before is None:
        raise KernelGone()
    step.before = before.by_driver
    old = await OldProcesses.of(kernel, before.holders)
    tools.insights.forget(kernel.id)

    async def restart() -> None:
        if asked.by_page:
            step.by_page = asked.by_page
            tell("Restarting…")
            await lifecycle.restarted(tools.registry, kernel)
        else:
            await lifecycle.restart(tools.registry, kernel)

    if asked.id == "shutdown":
        await lifecycle.shut_down(tools.registry, kernel)
        step.text = "The kernel was shut down."
    elif asked.place is None:
        await restart()
        step.text = "The kernel was restarted."
    else:
        step.text = await _restart_at(tools, kernel, asked.place, restart)
    return old


async def see_it_returned(tools: Tools, old: OldProcesses, step: wire.Step) -> list[wire.Survivor]:
    """Wait until the memory is back; gives who still holds some."""
    left = await old.memory_returned(tools.read)
    step.ok, step.after = True, left.bytes
    step.freed = less(step.before, step.after)
    step.freed_by = None if step.freed is None else "driver"
    survivors = len({row.pid for row in left.rows})
    if survivors:
        who = "a process" if survivors == 1 else f"{survivors} processes"
        step.text = f"{step.text} But {gib(step.after)} stays with {who} it had started."
    elif step.freed is None:
        step.text = f"{step.text} The driver doesn't say how much memory came back."
    return [child(row) for row in left.rows]


async def _end(pid: int, started_at: float, snapshot: wire.Snapshot) -> tuple[bool, str]:
    try:
        ended = await end(pid, started_at, snapshot)
    except NotYours as error:
        return False, str(error)
    return ended.ended, ended.text


async def _restart_at(
    tools: Tools, kernel: KnownKernel, where: str, restart: Callable[[], Awaitable[None]]
) -> str:
    manager = tools.registry.kernel_manager.get_kernel(kernel.id)
    before = place.choose(manager, where)
    try:
        await restart()
    except BaseException:
        place.undo(manager, before)
        raise
    await asyncio.sleep(lifecycle.LOOK)  # a small program in front has begun the kernel's by then
    process = (await tools.registry.get(kernel.id)).process
    if process is not None and place.is_at(process, where) is False:
        return (
            "The kernel was restarted, but what starts it chooses its GPU itself, so that it did "
            "not move."
        )
    if where == place.CPU:
        return "The kernel was restarted without a GPU. It stays so until another is chosen."
    gpus = (await tools.read()).gpus
    index = next((gpu.index for gpu in gpus if gpu.uuid == where), None)
    name = "the chosen GPU" if index is None else f"GPU {index}"
    return f"The kernel was restarted on {name}. It stays there until another is chosen."
