"""What a client sends, and what it looks for in the answer."""

from __future__ import annotations

from typing import Any

from jupyterlab_vram import wire


def request(*steps: wire.RemedyId | wire.RunStep, when: Any = "now") -> wire.RunRequest:
    """Steps by their ids, or with what they take."""
    remedies = [wire.RunStep(id=step) if isinstance(step, str) else step for step in steps]
    return wire.RunRequest(remedies=remedies, when=when)


def by_id(plan: wire.Plan) -> dict[str, wire.Remedy]:
    return {remedy.id: remedy for remedy in plan.remedies}
