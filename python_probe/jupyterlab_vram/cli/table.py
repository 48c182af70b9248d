"""A snapshot as people read it. Text from processes and notebooks is data, never markup."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .. import wire
from ..format import NBSP, UNKNOWN, age, gib

PIPED_WIDTH = 160
"""Characters a line where nobody told how many fit."""

_ROLES: dict[wire.Role, str] = {
    "worker": "worker process",
    "engine": "engine process",
    "command": "command",
    "debugger": "debugger",
}


class Screen:
    """Where snapshots are shown: in place on a terminal, else one below the other."""

    def __init__(self, *, live: bool) -> None:
        self._console = _console(sys.stdout)
        self._errors = _console(sys.stderr)
        in_place = live and self._console.is_terminal
        self._live = Live(console=self._console, auto_refresh=False) if in_place else None

    def __enter__(self) -> Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: wire.Snapshot, notes: Sequence[str]) -> None:
        """Print it, or replace what is there; why there is no reading goes to stderr."""
        problem = _problem(snapshot)
        if self._live is not None:
            shown = [problem] if problem else [_reading(snapshot)]
            self._live.update(Group(*shown, *map(_plain, notes)), refresh=True)
            return
        if problem is not None:
            self._errors.print(problem)
        else:
            self._console.print(_reading(snapshot))
        for note in notes:
            self._console.print(_plain(note))


def safe(text: str) -> str:
    """``text`` without what moves a terminal's cursor or turns its writing around."""
    return "".join(char if char.isprintable() or char == NBSP else "\ufffd" for char in text)


def _console(file: object) -> Console:
    console = Console(file=file, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def _problem(snapshot: wire.Snapshot) -> Text | None:
    if snapshot.state == "ok":
        return None
    if snapshot.problem is None:
        return _plain(f"There is no reading of the GPU ({snapshot.state}).")
    lines = [snapshot.problem.text, *snapshot.problem.tried, snapshot.problem.hint]
    return Text("\n".join(safe(line) for line in dict.fromkeys(lines) if line))


def _reading(snapshot: wire.Snapshot) -> RenderableType:
    parts: list[RenderableType] = []
    if snapshot.source == "simulated":
        parts.append(Text("SIMULATED · no real GPU", style="bold yellow"))
    if not snapshot.gpus:
        parts.append(_plain("The driver names no GPU."))
    kernels = {kernel.id: kernel for kernel in snapshot.kernels}
    for gpu in snapshot.gpus:
        parts += [_headline(gpu), _holders(gpu, snapshot, kernels)]
    if snapshot.views.reason:
        parts.append(_plain(snapshot.views.reason))
    return Group(*parts)


def _headline(gpu: wire.Gpu) -> Text:
    memory = gpu.memory
    facts = [f"{gib(memory.free)} free", f"{gib(memory.used)} of {gib(memory.total)} used"]
    if gpu.utilization.gpu is not None:
        facts.append(f"load {gpu.utilization.gpu:.0%}")
    if gpu.temperature.now is not None:
        facts.append(f"{gpu.temperature.now:.0f}{NBSP}°C")
    if gpu.health != "ok":
        facts.append(gpu.health)
    slice_ = " · slice" if gpu.parent is not None else ""
    name = Text(f"GPU {gpu.index}{slice_} · {safe(gpu.name)}", style="bold")
    return name.append("   " + " · ".join(facts), style="not bold")


def _holders(
    gpu: wire.Gpu, snapshot: wire.Snapshot, kernels: dict[str, wire.Kernel]
) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
    table.add_column(justify="right", no_wrap=True, min_width=len("11.2 GiB"))
    table.add_column(overflow="ellipsis", no_wrap=True, min_width=24)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    rows = [row for row in snapshot.holders if row.gpu == gpu.uuid]
    for row in sorted(rows, key=lambda row: -(row.bytes or 0)):
        kernel = kernels.get(row.kernel_id) if row.kernel_id and row.kind == "kernel" else None
        table.add_row(
            _plain(gib(row.bytes)),
            _plain(_who(row, kernel)),
            _plain(_what(row, kernel, snapshot.taken_at)),
            _plain(str(row.pid)),
        )
    for rest in snapshot.unattributed:
        if rest.gpu == gpu.uuid and rest.bytes:
            table.add_row(
                _plain(gib(rest.bytes)), _plain("not attributed"), _plain(rest.reason), Text()
            )
    return table if table.row_count else _plain("  Nothing holds its memory.")


def _who(row: wire.Holder, kernel: wire.Kernel | None) -> str:
    if kernel is not None:
        return kernel.notebook or f"{kernel.name} without a notebook"
    if row.kind == "other-user":
        return "another user"
    if row.kind == "unseen":
        return row.name or "a process that is not visible here"
    return row.notebook or row.name or UNKNOWN


def _what(row: wire.Holder, kernel: wire.Kernel | None, now: float) -> str:
    words = [_ROLES[row.role]] if row.role in _ROLES else []
    if kernel is not None:
        words.insert(0, _state(kernel, now))
    elif row.kind == "leftover":
        words.insert(0, "leftover: its kernel is gone")
    elif row.kind == "other-kernel":
        words.insert(0, "another program's kernel")
    elif row.kind in ("system", "shared"):
        words = ["system"]
    elif row.kind == "own":
        words = ["your process"]
    return ", ".join(words)


def _state(kernel: wire.Kernel, now: float) -> str:
    if kernel.state == "idle" and kernel.last_activity is not None:
        since = max(0.0, now - kernel.last_activity)
        return "idle" if since < 60 else f"idle {age(since)}"
    return kernel.state


def _plain(text: str) -> Text:
    return Text(safe(text))
