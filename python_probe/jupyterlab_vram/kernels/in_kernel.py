"""The steps that run inside an idle kernel, and what to say of each."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from .. import wire
from ..format import gib
from . import inside, lifecycle
from .answers import RemedyDone
from .channel import Op
from .figures import Measured, cached, live
from .gains import DROPS
from .known import KnownKernel
from .processes import printable
from .situation import Situation
from .tools import Tools

_NAMED = 5
"""How many things are named; the others are counted."""


async def run(tools: Tools, kernel: KnownKernel, asked: wire.RunStep, step: wire.Step) -> None:
    """Run one step and fill in ``step``.

    Raises:
        KernelBusy, NoAnswer, KernelGone: nothing was done.
    """
    await tools.look(kernel)
    before = (await tools.situation(kernel)).by_driver
    tools.insights.forget(kernel.id)
    done = await tools.channel.remedy(kernel.id, cast(Op, asked.id), **_arguments(asked))
    if not isinstance(done, RemedyDone):
        raise inside.refusal(done)
    was, told = inside.measured(done.before), inside.measured(done.after)
    now = await _noticed(tools, kernel, before, less(_reserved(was), _reserved(told)))
    # parking changes more than the frameworks' figures
    figures = await inside.look_again(tools.channel, kernel.id) or told
    figures = inside.with_context(figures, now.own)
    tools.measured.put(kernel, figures)
    step.frameworks_before, step.frameworks_after = was.frameworks, told.frameworks
    if before is not None and now.by_driver is not None:
        step.freed_by, step.before, step.after = "driver", before, now.by_driver
    elif told.frameworks:
        step.freed_by = "framework"
        step.before, step.after = _reserved(was), _reserved(told)
    step.ok = done.ok
    step.freed = less(step.before, step.after)
    # also of a failure it is told what was done before
    some = done.ok or done.deleted
    step.text = _words(done, was, told, step.freed) if some else _failure(done)


def less(before: int | None, after: int | None) -> int | None:
    """By how much it became less, at least 0; None where one is unknown."""
    return None if before is None or after is None else max(0, before - after)


def _arguments(asked: wire.RunStep) -> dict[str, Any]:
    if asked.id == "delete":
        return {"names": asked.names}
    if asked.id == "unpin-outputs":
        return {"all": bool(asked.all)}
    return {}


async def _noticed(
    tools: Tools, kernel: KnownKernel, before: int | None, returned: int | None
) -> Situation:
    """The situation once the driver shows what the framework gave back; it may take its time."""
    deadline = time.monotonic() + lifecycle.RETURN_LIMIT
    while True:
        now = await tools.situation(kernel)
        after = now.by_driver
        # what takes memory, as restoring does, has nothing to wait for
        shown = not returned or before is None or after is None or before - after >= returned
        if shown or time.monotonic() > deadline:
            return now
        await asyncio.sleep(lifecycle.LOOK)


def _reserved(figures: Measured) -> int | None:
    in_use, kept = live(figures.frameworks), cached(figures.frameworks)
    return None if in_use is None or kept is None else in_use + kept


def _failure(done: RemedyDone) -> str:
    text = printable((done.text or "").strip(), 500)
    return text or "The kernel could not do this, and didn't say why."


def _words(done: RemedyDone, was: Measured, now: Measured, freed: int | None) -> str | None:
    own = _own_words(done, was, now, freed)
    more = printable((done.text or "").strip(), 500)
    return " ".join(filter(None, [own, more])) or None


def _own_words(done: RemedyDone, was: Measured, now: Measured, freed: int | None) -> str | None:
    if done.op == "park":
        moved = "What vLLM's engine could move" if done.moved is None else gib(done.moved)
        return f"{moved} is in host RAM now. It comes back before the next cell runs."
    if done.op == "restore":
        moved = "vLLM's engine" if done.moved is None else gib(done.moved)
        return f"{moved} is back on the GPU."
    if done.op == "delete":
        return _words_of_delete(done)
    if not was.frameworks:
        return None if freed else "No framework that was recognised uses the GPU in this kernel."
    if done.op == "collect":
        dropped = less(live(was.frameworks), live(now.frameworks))
        if not dropped:
            return "No forgotten objects held GPU memory."
        return f"{gib(dropped)} of forgotten objects can be reused now, or released."
    if done.op in DROPS:
        return _words_of_drop(done, was, now)
    kept = cached(now.frameworks)
    if kept:
        return f"{gib(kept)} stays cached: it shares blocks with what is in use."
    return "Nothing was cached." if cached(was.frameworks) == 0 else None


def _words_of_delete(done: RemedyDone) -> str:
    parts = []
    if done.deleted:
        parts.append(f"Deleted {_named(done.deleted)}.")
    if done.missing:
        parts.append(f"Not there any more: {_named(done.missing)}.")
    return " ".join(parts)


def _words_of_drop(done: RemedyDone, was: Measured, now: Measured) -> str | None:
    if done.op == "clear-session":
        dropped = less(live(was.frameworks), live(now.frameworks))
        pools = was.sessions.keys() & was.keeps.keys()
        if dropped and pools:
            return f"{gib(dropped)} can be reused inside this notebook; the pool stays with it."
        return "The session was cleared."
    if done.dropped == 0:
        return "There was nothing to let go."
    return None


def _named(names: list[str]) -> str:
    shown = [printable(name, 60) for name in names[:_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
