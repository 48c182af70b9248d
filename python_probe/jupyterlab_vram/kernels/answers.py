"""What a kernel may answer through its channel; every outcome is a type.

Text and figures in them come from the kernel, so they are untrusted: escape before showing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, field

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
    limit: wire.Bytes | None = None
    """What the framework may take at most, where somebody set that."""


class FrameworkFigures(Struct, kw_only=True, frozen=True):
    devices: list[DeviceUse]
    keeps: str | None = None
    """Why it keeps its memory until the process ends, a sentence; None if it doesn't."""
    session: str | None = None
    """What ending its session loses, a sentence; None if it has none."""

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
    parked: wire.Bytes | None = None
    """GPU data that is in host RAM now."""
    cost: wire.Bytes | None = None
    """Of the agent's own text, which stays in the kernel."""


class Row(Struct, kw_only=True, frozen=True):
    """Something that keeps GPU memory in use, as ``wire.HolderInKernel`` has it."""

    label: str
    where: str
    kind: str
    bytes: wire.Bytes | None = None
    framework: str | None = None
    device: int | None = None
    """As the framework counts."""
    shape: list[int] | None = None
    dtype: str | None = None
    count: int = 1
    name: str | None = None
    gain: wire.Bytes | None = None
    also: list[str] = []


class Gain(Struct, kw_only=True, frozen=True):
    """What a remedy would return."""

    bytes: wire.Bytes | None = None
    is_: Literal["exact", "at-most", "unknown"] = field(name="is")


class Scan(Struct, kw_only=True, frozen=True):
    """Who holds the memory inside the kernel."""

    ok: bool
    text: str | None = None
    seconds: float
    rows: list[Row] = []
    found: wire.Bytes | None = None
    objects: int = 0
    complete: bool = False
    variables: int | None = None
    models: int | None = None
    gains: dict[str, Gain] = {}
    """Remedy to what it returns."""


class ParkCheck(Struct, kw_only=True, frozen=True):
    """What parking would move, or the reasons against it."""

    ok: bool
    text: str | None = None
    seconds: float
    bytes: wire.Bytes | None = None
    count: int = 0
    refused: list[str] = []
    stays: list[Row] = []
    stays_bytes: wire.Bytes | None = None
    host_free: wire.Bytes | None = None
    host_left: float | None = None
    differs: float | None = None


class RemedyDone(Struct, kw_only=True, frozen=True):
    """A remedy ran; with ``ok`` False it failed at least in part, and ``text`` says why."""

    op: str
    ok: bool
    text: str | None = None
    before: Frameworks = {}
    after: Frameworks = {}
    seconds: float
    dropped: int | None = None
    """``unpin-*``: how many exceptions' frames or outputs were let go."""
    deleted: list[str] = []
    missing: list[str] = []
    """``delete``: names that were not there, or may not be deleted."""
    moved: wire.Bytes | None = None
    count: int | None = None
    stays: list[Row] = []
    """``park``, ``restore``: what was moved, how many tensors, and what could not be."""


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
