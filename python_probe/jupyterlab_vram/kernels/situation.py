"""What one kernel holds at one moment, as plans and runs see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from .. import wire
from .answers import ParkCheck, Scan
from .figures import Frameworks, Measured, cached, total


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """What the objects of an idle kernel tell."""

    scan: Scan | None = None
    park: ParkCheck | None = None
    why_none: str | None = None
    """Why ``scan`` or ``park`` is missing, where it was asked for; a sentence."""


NO_INSIGHT = Insight()


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a kernel holds at one moment."""

    kernel: wire.Kernel
    holders: Sequence[wire.Holder]
    """The kernel's own."""
    inside: Measured | None = None
    """Its own figures, the latest."""
    insight: Insight = NO_INSIGHT

    @classmethod
    def of(
        cls,
        snapshot: wire.Snapshot,
        kernel_id: str,
        inside: Measured | None = None,
        insight: Insight = NO_INSIGHT,
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
        if inside is not None:
            # the snapshot is everybody's: a copy takes the figures
            kernel = msgspec.structs.replace(
                kernel, frameworks=inside.frameworks, asked_at=inside.at, parked=inside.parked
            )
        return cls(kernel=kernel, holders=holders, inside=inside, insight=insight)

    @property
    def frameworks(self) -> Frameworks:
        return self.kernel.frameworks

    @property
    def by_driver(self) -> int | None:
        """Bytes that the driver says it holds; None where only the kernel itself says it."""
        told = all(row.bytes_from != "kernel" for row in self.holders)
        return self.kernel.bytes if told else None

    @property
    def releasable(self) -> int | None:
        """Bytes of its caches that a release surely returns; None if that isn't known."""
        return self.inside.releasable if self.inside else None

    @property
    def stuck(self) -> int | None:
        """Cached bytes that a release can't return: they share segments with what is in use."""
        kept = cached(self.frameworks)
        if kept is None or self.releasable is None:
            return None
        return max(0, kept - self.releasable)

    @property
    def keeps(self) -> dict[str, str]:
        """Framework to why its memory stays with the process."""
        return self.inside.keeps if self.inside else {}

    @property
    def sessions(self) -> dict[str, str]:
        """Framework to what ending its session loses."""
        return self.inside.sessions if self.inside else {}

    @property
    def own(self) -> int | None:
        """Bytes of the kernel's own process by the driver; None if that isn't told."""
        return total(
            [
                None if row.bytes_from == "kernel" else row.bytes
                for row in self.holders
                if row.role == "main"
            ]
        )

    @property
    def others(self) -> Sequence[wire.Holder]:
        """What the kernel started that holds memory too."""
        return [row for row in self.holders if row.role != "main"]
