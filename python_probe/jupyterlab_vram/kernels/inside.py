"""What a kernel tells about itself, asked on a person's click."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable

import msgspec

from . import answers
from .answers import Busy, Figures, Gone, Installed, NoAgent, Silent
from .channel import KernelChannel
from .errors import KernelBusy, KernelError, KernelGone, NoAnswer
from .figures import Measured, total
from .processes import printable

_MOST_NAMES = 20
"""Frameworks or devices worth keeping; the answer comes from the kernel, which may say anything."""

_SENTENCE = 300
"""Characters of a sentence from the kernel that are worth showing."""


class NotAnswering(NoAnswer):
    """The kernel could answer, but its code keeps it from doing so."""


async def look(door: KernelChannel, kernel_id: str) -> Measured:
    """Ask an idle kernel; the first time, that puts the agent into it.

    Raises:
        KernelBusy: a cell runs; nothing was done.
        NotAnswering: it did not answer in time.
        NoAnswer: it isn't a kernel that can be asked.
        KernelGone: it ended.
    """
    installed = await door.install(kernel_id)
    if not isinstance(installed, Installed):
        raise refusal(installed)
    figures = await door.figures(kernel_id)
    if not isinstance(figures, Figures):
        raise refusal(figures)
    return told(figures)


async def look_again(door: KernelChannel, kernel_id: str) -> Measured | None:
    """Ask a kernel that was asked before, also while a cell runs; None without an answer."""
    figures = await door.figures(kernel_id)
    return told(figures) if isinstance(figures, Figures) else None


def refusal(answer: Busy | Silent | NoAgent | Gone) -> KernelError:
    """The error that says what the channel's answer means."""
    if isinstance(answer, Busy):
        return KernelBusy()
    if isinstance(answer, Silent):
        return NotAnswering(answer.text)
    if isinstance(answer, NoAgent):
        return NoAnswer(answer.text)
    return KernelGone()


def measured(frameworks: answers.Frameworks) -> Measured:
    """The agent's figures, cut to what is sensible."""
    kept = list(frameworks.items())[:_MOST_NAMES]
    return Measured(
        at=time.time(),
        frameworks={printable(name, 40): figures.total() for name, figures in kept},
        releasable=total([figures.releasable() for _, figures in kept]),
        devices={
            str(device.index): printable(device.uuid, 100)
            for _, figures in kept
            for device in figures.devices[:_MOST_NAMES]
            if device.uuid is not None
        },
        held=_held(device for _, figures in kept for device in figures.devices[:_MOST_NAMES]),
        keeps={
            printable(name, 40): printable(figures.keeps, _SENTENCE)
            for name, figures in kept
            if figures.keeps
        },
        sessions={
            printable(name, 40): printable(figures.session, _SENTENCE)
            for name, figures in kept
            if figures.session
        },
    )


def _held(devices: Iterable[answers.DeviceUse]) -> dict[str | None, int | None]:
    held: dict[str | None, int | None] = {}
    for device in devices:
        uuid = None if device.uuid is None else printable(device.uuid, 100)
        own = total([device.live, device.cached])
        if own is not None:
            own += device.context or 0
        held[uuid] = own if uuid not in held else total([held[uuid], own])
    return held


def told(figures: Figures) -> Measured:
    """All that a kernel's answer tells."""
    return dataclasses.replace(measured(figures.frameworks), parked=figures.parked or None)


def with_context(inside: Measured, own: int | None) -> Measured:
    """``inside`` with the driver's own share, where the framework can't tell it.

    Args:
        own: bytes that the kernel's own process holds by the driver. What the only framework
            doesn't know of is the driver's share.
    """
    if len(inside.frameworks) != 1 or own is None:
        return inside
    [(name, use)] = inside.frameworks.items()
    if use.context is not None or use.live is None or use.cached is None:
        return inside
    context = own - use.live - use.cached
    if context < 0:
        return inside
    filled = msgspec.structs.replace(use, context=context)
    return dataclasses.replace(inside, frameworks={name: filled})
