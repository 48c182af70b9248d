"""Which remedies a kernel has now, and why one can't be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .. import wire
from .figures import live
from .gains import DROPS, gain
from .processes import printable
from .situation import Situation

PlanState = Literal["idle", "busy", "silent", "gone", "no-agent"]

_GENTLE: frozenset[wire.RemedyId] = frozenset({"collect", "release-cache", "park", "restore"})

IN_KERNEL = _GENTLE | DROPS
"""Remedies that run code in an idle kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator allows."""

    read_only: bool = False
    allow_code_in_kernels: bool = True
    allow_end_processes: bool = True


def listed(now: Situation, state: PlanState) -> Sequence[wire.RemedyId]:
    """Gentle to drastic, without what makes no sense in this kernel."""
    remedies: list[wire.RemedyId] = []
    if state == "idle":
        remedies += ["restore"] if now.kernel.parked else ["park"]
        remedies += ["collect", "release-cache", "unpin-exceptions", "unpin-outputs", "delete"]
        if now.sessions:
            remedies.append("clear-session")
    elif state != "no-agent":
        # what else could be done shows once the kernel can be looked into
        remedies += ["collect", "release-cache"]
    if now.others:
        remedies.append("end-children")
    if state in ("busy", "silent"):
        remedies.append("interrupt")
    return [*remedies, "restart", "shutdown"]


def why_not(now: Situation, state: PlanState, remedy: wire.RemedyId, rules: Rules) -> str | None:
    """A sentence, or None if it can be run."""
    if rules.read_only:
        return "On this server GPU memory is only shown, not freed."
    if remedy == "end-children" and not rules.allow_end_processes:
        return "The operator of this server does not allow ending processes."
    if remedy not in IN_KERNEL:
        return None
    if state == "busy":
        return "Memory can't be freed safely while a cell runs."
    if state != "idle":
        return "The kernel does not answer."
    if remedy == "restore":
        return None
    if now.kernel.parked:
        return "The kernel's GPU data is in host RAM now. Restore it first."
    if now.kernel.bytes == 0 and not live(now.frameworks):
        return "This kernel holds no GPU memory."
    if remedy == "collect":
        return None
    if not now.frameworks:
        return "No framework in this kernel has GPU memory that could be released."
    if remedy == "park":
        return _why_not_park(now)
    if remedy == "delete":
        return _why_not_delete(now)
    nothing = {
        "unpin-exceptions": "No error that is kept holds GPU memory.",
        "unpin-outputs": "No output in Out or _ holds GPU memory.",
    }
    found = gain(now, remedy)
    pinned = (found.bytes, found.is_) != (0, "exact") or bool(now.keeps)
    return None if pinned else nothing.get(remedy)


def _why_not_park(now: Situation) -> str | None:
    check = now.insight.park
    if check is None:
        return now.insight.why_none or "What could be moved to host RAM is not known."
    if check.refused:
        return " ".join(_sentence(reason) for reason in check.refused)
    if not check.ok:
        return _sentence(check.text or "What could be moved to host RAM could not be found out.")
    return (
        None if check.bytes or check.count else "Nothing was found that could be moved to host RAM."
    )


def _why_not_delete(now: Situation) -> str | None:
    if now.insight.scan is None:
        return now.insight.why_none or "Which variables hold GPU memory is not known."
    if not any(row.name for row in now.insight.scan.rows):
        return "No variable of the notebook holds GPU memory."
    return None


def _sentence(text: str) -> str:
    """From the kernel, so it may be anything."""
    short = printable(text.strip(), 300)
    return short if short.endswith((".", "!", "?")) else f"{short}."
