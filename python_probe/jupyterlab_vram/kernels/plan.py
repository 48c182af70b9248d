"""What can be done about one kernel's memory, gentle to drastic, with gain and cost."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

import msgspec

from .. import __version__, wire
from ..format import gib
from .figures import Frameworks, Measured, cached, live, total

NOTHING_LOST = "Nothing is lost."

LOSSES: dict[wire.RemedyId, str] = {
    "collect": NOTHING_LOST,
    "release-cache": NOTHING_LOST,
    "interrupt": "You lose the running cell's progress. Variables stay.",
    "restart": "You lose every variable.",
    "shutdown": "You lose every variable, and the notebook has no kernel until you start one.",
}
"""The remedies of this version; ``wire.RemedyId`` names more."""

IN_KERNEL: frozenset[wire.RemedyId] = frozenset({"collect", "release-cache"})
"""Remedies that run code in an idle kernel."""

ENDS_PROCESS: frozenset[wire.RemedyId] = frozenset({"restart", "shutdown"})

PlanState = Literal["idle", "busy", "silent", "gone", "no-agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a kernel holds at one moment."""

    kernel: wire.Kernel
    holders: Sequence[wire.Holder]
    """The kernel's own."""
    releasable: int | None = None
    """Bytes of its caches that a release surely returns; None if that isn't known."""

    @classmethod
    def of(
        cls, snapshot: wire.Snapshot, kernel_id: str, inside: Measured | None = None
    ) -> Situation | None:
        """None if there is no such kernel any more.

        Args:
            inside: its own figures, if they are newer than the snapshot's.
        """
        kernel = next((row for row in snapshot.kernels if row.id == kernel_id), None)
        if kernel is None:
            return None
        holders = [
            row for row in snapshot.holders if row.kind == "kernel" and row.kernel_id == kernel_id
        ]
        if inside is None:
            return cls(kernel=kernel, holders=holders)
        # the snapshot is everybody's: a copy takes the figures
        kernel = msgspec.structs.replace(kernel, frameworks=inside.frameworks, asked_at=inside.at)
        return cls(kernel=kernel, holders=holders, releasable=inside.releasable)

    @property
    def frameworks(self) -> Frameworks:
        return self.kernel.frameworks

    @property
    def own(self) -> int | None:
        """Bytes of the kernel's own process by the driver; None if that isn't told."""
        return total([row.bytes for row in self.holders if row.role == "main"])

    @property
    def others(self) -> Sequence[wire.Holder]:
        """What the kernel started that holds memory too."""
        return [row for row in self.holders if row.role != "main"]


def make_plan(
    now: Situation, state: PlanState, text: str | None, *, read_only: bool = False
) -> wire.Plan:
    """The plan; only what loses nothing is ticked."""
    remedies = _remedies(now, state)
    if read_only:
        for remedy in remedies:
            remedy.offered = remedy.default = False
            remedy.why_not = "On this server GPU memory is only shown, not freed."
    ticked = {remedy.id for remedy in remedies if remedy.default}
    held = now.kernel.bytes
    freed = gain(now, "release-cache") if "release-cache" in ticked else 0
    return wire.Plan(
        version=__version__,
        kernel_id=now.kernel.id,
        state=state,
        measured_at=now.kernel.asked_at,
        bytes=held,
        gpus=now.kernel.gpus,
        frameworks=now.frameworks,
        remedies=remedies,
        remains=wire.Remains(
            bytes=None if held is None else max(0, held - (freed or 0)),
            why=why_remains(now, freed or 0),
        ),
        text=text,
    )


def gain(now: Situation, remedy: wire.RemedyId) -> int | None:
    """Bytes that the GPU gets back, as far as that can be known before."""
    if remedy == "release-cache":
        return cached(now.frameworks) if now.releasable is None else now.releasable
    return now.kernel.bytes if remedy in ENDS_PROCESS else None


def expected(now: Situation, remedies: Set[wire.RemedyId]) -> int | None:
    """Bytes that ``remedies`` together are known to return; what can't be known is left out."""
    if remedies & ENDS_PROCESS:
        return now.kernel.bytes
    return gain(now, "release-cache") if "release-cache" in remedies else None


def why_remains(now: Situation, released: int = 0) -> str | None:
    """Who has what stays, in one sentence; None if nobody knows.

    Args:
        released: bytes of the caches that will be gone by then.
    """
    parts = []
    in_use, kept = live(now.frameworks), cached(now.frameworks)
    if in_use:
        parts.append(f"{gib(in_use)} is in use by the notebook's variables")
    if kept is not None and kept > released:
        parts.append(f"{gib(kept - released)} is kept for reuse")
    if in_use is not None and kept is not None and now.own is not None:
        context = now.own - in_use - kept
        if context > 0:
            parts.append(
                f"{gib(context)} is the driver's own share: only ending the process returns it"
            )
    others = total([row.bytes for row in now.others])
    if others:
        parts.append(f"{gib(others)} is held by processes that the kernel started")
    return "; ".join(parts) + "." if parts else None


def _remedies(now: Situation, state: PlanState) -> list[wire.Remedy]:
    remedies = []
    if state != "no-agent":  # such a kernel has no gentle steps; the plan's text says why
        why_not = _why_not(now, state)
        collect = _remedy("collect", now, why_not)
        release = _remedy("release-cache", now, why_not)
        if why_not is None and not now.frameworks:
            release.offered = False
            release.why_not = "No framework in this kernel has a cache that can be released."
        collect.default, release.default = collect.offered, release.offered
        remedies += [collect, release]
    if state in ("busy", "silent"):
        remedies.append(_remedy("interrupt", now))
    return [*remedies, _remedy("restart", now), _remedy("shutdown", now)]


def _why_not(now: Situation, state: PlanState) -> str | None:
    if state == "busy":
        return "Memory can't be freed safely while a cell runs."
    if state != "idle":
        return "The kernel does not answer."
    return "This kernel holds no GPU memory." if now.kernel.bytes == 0 else None


def _remedy(remedy: wire.RemedyId, now: Situation, why_not: str | None = None) -> wire.Remedy:
    bytes_ = gain(now, remedy)
    # children may outlive their kernel; cached blocks may share a segment with live ones
    exact = not now.others if remedy in ENDS_PROCESS else now.releasable is not None
    return wire.Remedy(
        id=remedy,
        gain=bytes_,
        gain_is="unknown" if bytes_ is None else "exact" if exact else "at-most",
        loses=LOSSES[remedy],
        offered=why_not is None,
        why_not=why_not,
    )
