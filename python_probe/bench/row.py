"""A row of the table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured, as a person reads it, and whether the bound holds."""

    measure: str
    ours: str
    against: str
    """The peer's figure with its name, or what the figure must not exceed."""
    ratio: float | None = None
    """Ours by the peer's."""
    holds: bool | None = None
    """None: for information, without a bound."""


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def compared(measure: str, ours: float, peer: float, name: str, bound: float | None) -> Row:
    """Our seconds against a peer's, at most ``bound`` times them."""
    ratio = ours / peer
    return Row(
        measure=measure,
        ours=milliseconds(ours),
        against=f"{milliseconds(peer)} {name}"
        + (f", at most {bound:g}\N{MULTIPLICATION SIGN}" if bound else ""),
        ratio=ratio,
        holds=ratio <= bound if bound else None,
    )
