"""One leak of each kind, made in a real kernel with each framework; what each remedy returned.

The amounts tell them apart: MiB that nothing but the named remedy returns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from channel_user import Notebook, until
from jupyterlab_vram.kernels.answers import Figures, Frameworks, ParkCheck, RemedyDone
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.simulated.ledger import Ledger

MIB = 1 << 20
PROBE = Path(__file__).parents[2]
STAND_INS = PROBE / "tests" / "stand_ins"
VARIABLE, CYCLE, ERROR, OUTPUT, CACHED = 20, 60, 80, 100, 40

LEAKS = (
    f"""
import gc; gc.disable()
class Box:
    def __init__(self, array): self.array = array
kept = take({VARIABLE})
ring = Box(take({CYCLE})); ring.itself = ring; del ring
""",
    f"""
def fails():
    local = take({ERROR})
    raise ValueError("with its frame")
fails()
""",
    f"Box(take({OUTPUT}))",
    f"cached = take({CACHED}); del cached",
)
"""Cells, after one that has defined ``take(mib)``."""


@dataclass(frozen=True)
class Freed:
    """MiB."""

    live: int | None
    """Less in use, by the framework's own account; None if it has none."""
    driver: int | None
    """Returned to the driver; None if the remedy isn't offered."""

    def __str__(self) -> str:
        if self.driver is None:
            return "not offered"
        return f"{'—' if self.live is None else self.live} / {self.driver}"


class Story:
    """A kernel in which something holds memory, and the simulated driver's view of it: nobody else
    holds any."""

    def __init__(
        self, name: str, notebook: Notebook, channel: KernelChannel, ledger: Ledger
    ) -> None:
        self.name = name
        """The framework's, as the agent has it."""
        self.notebook = notebook
        self.channel = channel
        self.ledger = ledger

    def held(self) -> int:
        """MiB by the driver's account, of the kernel and its children, on the first GPU."""
        return sum(row.bytes for row in self.ledger.state().processes if row.device == 0) // MIB

    async def tell(self, *cells: str) -> None:
        for cell in cells:
            await self.notebook.run(cell)
        await self.channel.install(self.notebook.kernel_id)

    async def run(self, *remedies: Any, **arguments: Any) -> Freed:
        """What came back of the remedies together. Fails if one of them did."""
        held = self.held()
        live: list[int | None] = []
        for op in remedies:
            done = await self.channel.remedy(self.notebook.kernel_id, op, **arguments)
            assert isinstance(done, RemedyDone) and done.ok, done
            live += [self._live(figures) for figures in (done.before, done.after)]
        first, last = live[0], live[-1]
        gone = None if first is None or last is None else (first - last) // MIB
        return Freed(gone, held - self.held())

    def _live(self, frameworks: Frameworks) -> int | None:
        figures = frameworks.get(self.name)
        return None if figures is None else figures.total().live

    async def parked(self) -> Freed:
        """What park gave until it was brought back."""
        check = await self.channel.park_check(self.notebook.kernel_id)
        assert isinstance(check, ParkCheck) and check.ok, check
        if check.refused:
            return Freed(None, None)
        held = self.held()
        freed = await self.run("park")
        await self.run("restore")
        assert self.held() == held
        return freed

    async def cleared(self) -> Freed:
        figures = await self.channel.figures(self.notebook.kernel_id)
        assert isinstance(figures, Figures) and figures.problems == {}, figures
        told = figures.frameworks.get(self.name)
        if told is None or told.session is None:
            return Freed(None, None)
        return await self.run("clear-session")

    async def restarted(self) -> Freed:
        """What a restart of the kernel gave back; nothing is left of its process."""
        held = self.held()
        await self.notebook.kernel.restart_kernel(now=True)
        await until(lambda: self.held() == 0)
        return Freed(None, held)


Tell = Callable[..., Awaitable[Story]]
"""The fixture ``tell``."""
