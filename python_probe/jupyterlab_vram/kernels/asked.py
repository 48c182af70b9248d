"""What a person asked for: checked as a whole before anything is done."""

from __future__ import annotations

from typing import Any

from .. import wire
from . import place
from .errors import NotAllowed, NotOffered
from .gains import ENDS_PROCESS
from .offers import IN_KERNEL, Rules

ORDER: tuple[wire.RemedyId, ...] = (
    "interrupt",
    "restore",
    "collect",
    "release-cache",
    "unpin-exceptions",
    "unpin-outputs",
    "delete",
    "clear-session",
    "park",
    "end-children",
    "restart",
    "shutdown",
)
"""Gentle to drastic, except that what needs an idle kernel comes after the interrupt, and that
parking moves only what the steps before it left."""

_TAKES: dict[str, wire.RemedyId] = {
    "names": "delete",
    "all": "unpin-outputs",
    "pids": "end-children",
    "place": "restart",
    "by_page": "restart",
}
"""A step's own field to the only remedy that has it; with any other it is another request."""

_NEEDS: dict[wire.RemedyId, tuple[str, str]] = {
    "delete": ("names", "Choose at least one variable to delete."),
    "end-children": ("pids", "Choose at least one process to end."),
}

_NOT_BOTH: tuple[tuple[frozenset[wire.RemedyId], str], ...] = (
    (ENDS_PROCESS, "A kernel can be restarted or shut down, not both."),
    (frozenset({"park", "restore"}), "A kernel can be parked or restored, not both."),
)


def ordered(request: wire.RunRequest, rules: Rules) -> list[wire.RunStep]:
    """The steps as they will run.

    Raises:
        NotAllowed: the operator doesn't allow one of them.
        NotOffered: the request makes no sense.
    """
    if rules.read_only:
        raise NotAllowed("On this server GPU memory is only shown, not freed.")
    ids = {step.id for step in request.remedies}
    for step in request.remedies:
        _check_fields(step)
    if len(ids) < len(request.remedies):
        raise NotOffered("A step was asked for twice.")
    for both, text in _NOT_BOTH:
        if ids >= both:
            raise NotOffered(text)
    if not rules.allow_code_in_kernels and ids & IN_KERNEL:
        raise NotAllowed("This server doesn't allow running code in kernels to free memory.")
    if not rules.allow_end_processes and "end-children" in ids:
        raise NotAllowed("The operator of this server does not allow ending processes.")
    return sorted(request.remedies, key=lambda step: ORDER.index(step.id))


def check_targets(
    steps: list[wire.RunStep], manager: Any, kernel_id: str, snapshot: wire.Snapshot
) -> dict[int, float]:
    """Whether places and processes exist.

    Args:
        manager: the kernel's own.
        snapshot: a fresh one.

    Returns:
        Start times of the processes to end: a number may be another process's by then.

    Raises:
        NotOffered: one doesn't, or isn't this kernel's.
    """
    chosen: dict[int, float] = {}
    for step in steps:
        if step.place is not None:
            place.check(step.place, manager, snapshot)
        for pid in step.pids or ():
            chosen[pid] = _started(pid, kernel_id, snapshot)
    return chosen


def _check_fields(step: wire.RunStep) -> None:
    if step.budget is not None:
        raise NotOffered("A memory budget can't be set in this version.")
    for field, only in _TAKES.items():
        if getattr(step, field) is not None and step.id != only:
            raise NotOffered(f"“{step.id}” takes no “{field}”.")
    if step.id in _NEEDS:
        field, text = _NEEDS[step.id]
        if not getattr(step, field):
            raise NotOffered(text)


def _started(pid: int, kernel_id: str, snapshot: wire.Snapshot) -> float:
    rows = [row for row in snapshot.holders if row.pid == pid and row.kernel_id == kernel_id]
    row = next((row for row in rows if row.kind == "kernel"), None)
    if row is None:
        raise NotOffered(
            f"Process {pid} holds no GPU memory (any more), or this kernel did not start it."
        )
    if row.role == "main":
        raise NotOffered(f"Process {pid} is the kernel itself: restart it or shut it down instead.")
    if row.started_at is None:
        raise NotOffered(f"The system doesn't tell when process {pid} started; it is not ended.")
    return row.started_at
