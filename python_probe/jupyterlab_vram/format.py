"""Figures as people read them; the same rules as ``src/format.ts``."""

from __future__ import annotations

GIB = 1 << 30
NBSP = "\u00a0"
UNKNOWN = "—"


def gib(size: int | None) -> str:
    """Bytes as GiB with one decimal; ``0.0`` only for a measured zero."""
    if size is None:
        return UNKNOWN
    if 0 < size < 0.05 * GIB:
        return f"<{NBSP}0.1{NBSP}GiB"
    return f"{size / GIB:.1f}{NBSP}GiB"


def age(seconds: float) -> str:
    """A duration as one unit: ``just now``, ``12 min``, ``2 h``, ``3 d``."""
    if seconds < 60:
        return "just now"
    for unit, length, limit in (("min", 60, 3600), ("h", 3600, 86400)):
        if seconds < limit:
            return f"{int(seconds // length)}{NBSP}{unit}"
    return f"{int(seconds // 86400)}{NBSP}d"
