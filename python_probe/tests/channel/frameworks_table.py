"""The table in docs/frameworks.md: what each remedy was expected to return, and what it did.

Every row is measured by ``test_frameworks_table.py`` and compared with the page, so that the page
can't go stale. VRAM_WRITE_TABLE=1 makes the test write its rows there before it compares; Prettier
aligns them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from stories import CACHED, CYCLE, ERROR, OUTPUT, VARIABLE, Freed

PAGE = Path(__file__).parents[3] / "docs" / "frameworks.md"
REMEDIES = ("release-cache", "collect", "unpin", "park", "delete", "clear-session", "restart")
"""In the order in which they are run; ``collect`` is followed by a release, as the plan has it."""
NOT_OFFERED = Freed(None, None)

SIMULATED_DRIVER = "real, on the simulated driver"
CPU_BUILD = "real CPU build; the GPU's figures and pool are simulated"
STAND_IN = "stand-in, not the real library"


def pool_returns(context: int) -> dict[str, Freed]:
    """What a framework returns that gives its cache back; ``context`` in MiB."""
    return {
        "release-cache": Freed(0, CACHED),
        "collect": Freed(CYCLE, CYCLE),
        "unpin": Freed(ERROR + OUTPUT, ERROR + OUTPUT),
        "park": NOT_OFFERED,
        "delete": Freed(VARIABLE, VARIABLE),
        "clear-session": NOT_OFFERED,
        "restart": Freed(None, context),
    }


def pool_stays(context: int) -> dict[str, Freed]:
    """What one returns that doesn't: all of it comes back with the process."""
    most = VARIABLE + CYCLE + ERROR + OUTPUT + CACHED
    stays = {
        name: freed if freed is NOT_OFFERED else replace(freed, driver=0)
        for name, freed in pool_returns(0).items()
    }
    return {**stays, "restart": Freed(None, most + context)}


def engine_stays(delete: int, context: int) -> dict[str, Freed]:
    """What an engine returns: nothing but all of it at its end, ``delete``; ``context`` stays with
    the kernel."""
    nothing = dict.fromkeys(("release-cache", "collect", "unpin"), Freed(None, 0))
    ends = {"delete": Freed(None, delete), "restart": Freed(None, context)}
    return {**pool_stays(0), **nothing, **ends}


@dataclass
class Row:
    framework: str
    ran_on: str
    seen_by: str
    expected: dict[str, Freed]
    measured: dict[str, Freed] = field(default_factory=dict)

    def cells(self) -> list[str]:
        both = [f"{self.measured[name]} ({self.expected[name]})" for name in REMEDIES]
        return [self.framework, self.ran_on, self.seen_by, *both]

    def compare(self) -> None:
        """With the page, and what came with what was expected."""
        lines = PAGE.read_text(encoding="utf-8").splitlines()
        found = [n for n, line in enumerate(lines) if line.startswith(f"| {self.framework} ")]
        assert len(found) == 1, f"{PAGE.name} has {len(found)} rows for {self.framework}."
        if os.environ.get("VRAM_WRITE_TABLE"):
            lines[found[0]] = f"| {' | '.join(self.cells())} |"
            PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # Prettier aligns the columns.
        assert [cell.strip() for cell in lines[found[0]].split("|")[1:-1]] == self.cells()
        assert self.measured == self.expected
