"""What each remedy costs, in words for the person who pays."""

from __future__ import annotations

from collections.abc import Sequence

from .. import wire
from ..format import gib
from .figures import live
from .processes import printable
from .situation import Situation

NOTHING_LOST = "Nothing is lost."

_SAME: dict[wire.RemedyId, str] = {
    "collect": NOTHING_LOST,
    "release-cache": NOTHING_LOST,
    "unpin-exceptions": (
        "You lose %debug for the last error. Its traceback still prints, unless the error itself "
        "holds GPU memory."
    ),
    "delete": "You lose the variables that you choose. This can't be undone.",
    "end-children": "You lose what these processes are doing. Cells that wait for them may fail.",
    "interrupt": "You lose the running cell's progress. Variables stay.",
}

_NAMED = 3
"""How many outputs are named; the others are counted."""


def loses(now: Situation, remedy: wire.RemedyId, *, busy: bool) -> str:
    """One or two sentences.

    Args:
        busy: a cell runs, which restarting and shutting down end too.
    """
    if remedy == "park":
        return _park(now)
    if remedy == "restore":
        return f"{NOTHING_LOST} {gib(now.kernel.parked)} goes back to the GPU."
    if remedy == "unpin-outputs":
        return _outputs(now)
    if remedy == "clear-session":
        return _session(now)
    if remedy == "restart":
        return f"You lose {_everything(now, busy)}."
    if remedy == "shutdown":
        return (
            f"You lose {_everything(now, busy)}, and the notebook has no kernel until you start "
            "one."
        )
    return _SAME[remedy]


def _park(now: Situation) -> str:
    check = now.insight.park
    if check is not None and check.differs is not None and check.differs > 0.05:
        return (
            f"{NOTHING_LOST} What was found differs by {check.differs:.0%} from what the framework "
            "says is in use: the rest stays on the GPU."
        )
    return NOTHING_LOST


def _outputs(now: Situation) -> str:
    rows = now.insight.scan.rows if now.insight.scan else []
    labels = [printable(row.label, 40) for row in rows if row.where == "output"]
    if not labels:
        return "You lose the outputs in Out and _ that hold GPU memory. Variables stay."
    return f"You lose {_named(labels)}. Variables stay."


def _named(labels: Sequence[str]) -> str:
    if len(labels) <= _NAMED:
        return " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))
    return f"{', '.join(labels[:_NAMED])} and {len(labels) - _NAMED} more"


def _session(now: Situation) -> str:
    sentences = [sentence for _, sentence in sorted(now.sessions.items())]
    if now.sessions.keys() & now.keeps.keys():
        in_use = live({name: now.frameworks[name] for name in now.keeps if name in now.frameworks})
        what = "some memory" if in_use is None else f"up to {gib(in_use)}"
        sentences.append(f"Makes {what} reusable inside this notebook. Returns nothing to the GPU.")
    return " ".join(sentences)


def _everything(now: Situation, busy: bool) -> str:
    words = "the running cell and every variable" if busy else "every variable"
    scan = now.insight.scan
    if scan is None or not scan.variables:
        return words
    counted = _count(scan.variables, "variable")
    if scan.models:
        counted += f", {_count(scan.models, 'model')}"
    return f"{words}: {counted}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
