"""What a kernel may answer through its channel; every outcome is a type.

Text and figures in them come from the kernel, so they are untrusted: escape before showing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .. import wire


class DeviceUse(Struct, kw_only=True, frozen=True):
    """What one framework holds on one GPU, by its own account."""

    index: int
    """As the framework counts; CUDA_VISIBLE_DEVICES makes it differ from the driver's."""
    uuid: str | None = None
    live: wire.Bytes | None = None
    cached: wire.Bytes | None = None
    releasable: wire.Bytes | None = None
    """The part of ``cached`` that a release gives back: whole segments only."""
    context: wire.Bytes | None = None
    peak: wire.Bytes | None = None


class FrameworkFigures(Struct, kw_only=True, frozen=True):
    devices: list[DeviceUse]

    def releasable(self) -> int | None:
        """Summed over the devices, as ``total``."""
        return _sum(device.releasable for device in self.devices)

    def total(self) -> wire.FrameworkUse:
        """Summed over the devices; a sum with an unknown part is unknown."""
        return wire.FrameworkUse(
            live=_sum(device.live for device in self.devices),
            cached=_sum(device.cached for device in self.devices),
            context=_sum(device.context for device in self.devices),
            peak=_sum(device.peak for device in self.devices),
        )


Frameworks = dict[str, FrameworkFigures]


class Figures(Struct, kw_only=True, frozen=True):
    """What the frameworks in the kernel say that they hold."""

    version: str
    """The agent's, see ``agent.version``."""
    pid: int
    """As the kernel sees itself; in a container it may belong to another namespace."""
    hostname: str
    seconds: float
    """How long the measuring took."""
    running: str | None = None
    """Message id of the remedy under way."""
    frameworks: Frameworks
    problems: dict[str, str] = {}
    """Framework to a sentence, for one that could not be asked."""


class RemedyDone(Struct, kw_only=True, frozen=True):
    """A remedy ran; with ``ok`` False it failed at least in part, and ``text`` says why."""

    op: str
    ok: bool
    text: str | None = None
    before: Frameworks = {}
    after: Frameworks = {}
    seconds: float


class Late(Struct, frozen=True):
    """The remedy was reached after its time to start, so it did nothing."""

    late: bool


class Installed(Struct, kw_only=True, frozen=True):
    version: str
    pid: int


class Busy(Struct, kw_only=True, frozen=True):
    """A cell is running; nothing was done and nothing is left to be done later."""

    text: str = (
        "The kernel is running a cell. Wait until it has finished, interrupt it, or restart the "
        "kernel."
    )


class Silent(Struct, kw_only=True, frozen=True):
    """The kernel runs but gave no usable answer in time."""

    text: str = (
        "The kernel does not answer: it is still starting, or the code that it runs lets nothing "
        "else in. Wait, interrupt it, or restart the kernel."
    )


class NoAgent(Struct, kw_only=True, frozen=True):
    """There is no agent in this kernel; ``possible`` tells whether one could be installed."""

    text: str
    possible: bool


class Gone(Struct, kw_only=True, frozen=True):
    """The kernel ended or restarted, before or while it was asked."""

    text: str = "The kernel has ended or was restarted."


Unanswered = Busy | Silent | NoAgent | Gone


def _sum(parts: Iterable[int | None]) -> int | None:
    total = 0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
