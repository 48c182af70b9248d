"""Values of a GPU by their path on the wire, such as ``power.draw``."""

from __future__ import annotations

from .. import wire


def put(gpu: wire.Gpu, path: str, value: float) -> None:
    """Set the value at ``path``."""
    holder: object = gpu
    *groups, last = path.split(".")
    for group in groups:
        holder = getattr(holder, group)
    setattr(holder, last, value)
