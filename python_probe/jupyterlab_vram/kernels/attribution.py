"""Whose process it is that holds GPU memory.

Walks up from the few processes that the driver names to a kernel, never down the process table:
the cost follows GPU processes, not kernels. A verdict is kept for as long as nothing it rests on
can have changed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import psutil

from .. import wire
from ..probe.reading import GpuProcess
from . import processes
from .known import EndedKernel, KnownKernel
from .processes import Facts, Inherited, printable
from .roles import is_shared, role

FRESH = 10.0
"""Seconds for which names and command lines are believed; workers rename themselves."""

REMEMBERED = 2048
"""How many processes' kernels are remembered, to recognise them once the kernel is gone."""

_TYPES: dict[str, Literal["C", "G", "C+G"]] = {"C": "C", "G": "G", "C+G": "C+G"}

OpensGpu = Callable[[int], "bool | None"]
"""Whether a process of this system has the GPU open; None where that can't be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    kind: wire.HolderKind
    evidence: str
    role: wire.Role = "unknown"
    kernel_id: str | None = None
    notebook: str | None = None
    facts: Facts | None = None
    kernel: psutil.Process | None = None
    """The process of the kernel of this server that it belongs to."""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Scene:
    """What verdicts are made against."""

    kernels: dict[psutil.Process, KnownKernel]
    ended: dict[psutil.Process, EndedKernel]
    ended_ids: dict[str, EndedKernel]


class Attributor:
    """Turns the driver's processes into holders. May be called from any thread.

    Args:
        opens_gpu: tells whether a process has the GPU open. A number that the driver gives may
            belong to another container; a process here that merely has the same number must not
            be blamed.
        servers: numbers of the servers' processes whose kernels are given; kernels get theirs as
            ``JPY_PARENT_PID``.
        root: the server's folder; a notebook's path is told relative to it.
    """

    def __init__(
        self, opens_gpu: OpensGpu, *, servers: Collection[int] = (), root: str | None = None
    ) -> None:
        self._opens_gpu = opens_gpu
        self._servers = frozenset(servers)
        self._root = Path(root) if root else None
        self._me = processes.owner(psutil.Process())
        self._verdicts: dict[psutil.Process, _Verdict] = {}
        self._started_by: OrderedDict[psutil.Process, psutil.Process] = OrderedDict()
        self._seen_kernels: frozenset[psutil.Process] = frozenset()
        self._lock = threading.Lock()

    def holders(
        self,
        found: Iterable[GpuProcess],
        kernels: Sequence[KnownKernel],
        ended: Sequence[EndedKernel] = (),
    ) -> list[wire.Holder]:
        """One row for each of the driver's processes, whatever may be wrong with it."""
        with self._lock:
            scene = _Scene(
                {kernel.process: kernel for kernel in kernels if kernel.process is not None},
                {kernel.process: kernel for kernel in ended},
                {kernel.id: kernel for kernel in ended},
            )
            running = frozenset(scene.kernels)
            if running != self._seen_kernels:
                self._verdicts.clear()
                self._seen_kernels = running
            used: dict[psutil.Process, _Verdict] = {}
            rows = [self._row(process, scene, used) for process in found]
            self._verdicts = used
            return rows

    def _row(
        self, found: GpuProcess, scene: _Scene, used: dict[psutil.Process, _Verdict]
    ) -> wire.Holder:
        try:
            process = psutil.Process(found.pid)
            verdict = used.get(process) or self._verdict(process, scene)
            if verdict.facts is not None:  # else it may only have been early, so look again
                used[process] = verdict
        except (psutil.NoSuchProcess, ValueError, OverflowError):
            verdict = _Verdict(
                kind="unseen",
                evidence="The driver names a process that this system doesn't show: it has ended, "
                "or it belongs to another container.",
            )
        facts = verdict.facts
        # the notebook may have been renamed since the verdict was made
        kernel = scene.kernels.get(verdict.kernel) if verdict.kernel else None
        return wire.Holder(
            gpu=found.gpu,
            pid=found.pid,
            started_at=facts.started_at if facts else None,
            bytes=found.bytes,
            bytes_from=None if found.bytes is None else "driver",
            type=_TYPES.get(found.type),
            name=facts.name if facts else _base_name(found.name),
            kind=verdict.kind,
            role=verdict.role,
            kernel_id=verdict.kernel_id,
            notebook=kernel.notebook if kernel else verdict.notebook,
            evidence=verdict.evidence,
        )

    def _verdict(self, process: psutil.Process, scene: _Scene) -> _Verdict:
        known = self._verdicts.get(process)
        now = time.monotonic()
        if known is not None and now - known.at < FRESH:
            return known
        return replace(self._judge(process, scene), at=now)

    def _judge(self, process: psutil.Process, scene: _Scene) -> _Verdict:
        """
        Raises:
            psutil.NoSuchProcess: it ended meanwhile.
        """
        facts = processes.look(process)
        if not facts.zombie and self._opens_gpu(process.pid) is False:
            return _Verdict(
                kind="unseen",
                evidence="The process that has this number here doesn't use the GPU, so the "
                "driver means one of another container.",
            )
        if is_shared(facts):
            return _Verdict(
                kind="shared", facts=facts, evidence=f"{facts.name} serves many programs."
            )
        line = [process]
        for ancestor in processes.ancestors(process):
            if line[-1] in scene.kernels:
                break
            line.append(ancestor)
        return (
            self._of_kernel(process, facts, line, scene)
            or self._of_stranger(process, facts)
            or self._of_leftover(process, facts, line, scene)
            or _Verdict(kind="own", facts=facts, evidence="A process of yours.")
        )

    def _of_kernel(
        self, process: psutil.Process, facts: Facts, line: list[psutil.Process], scene: _Scene
    ) -> _Verdict | None:
        """A kernel of this server: the nearest one above, or the one that was seen above before."""
        above = line[-1] if line[-1] in scene.kernels else None
        evidence = "Started by this notebook's kernel."
        if above is None:
            above = self._started_by.get(process)
            evidence = "Started by this notebook's kernel, and detached from it since."
        if above is None:
            above = self._kernel_inherited_from(process, facts, scene)
            evidence = "Carries the environment of this notebook's kernel."
        kernel = scene.kernels.get(above) if above is not None else None
        if above is None or kernel is None:
            return None
        self._remember(process, above)
        main = _look_at_main(line if line[-1] == above else [above], {process: facts})
        is_main = main is not None and main[0] == process
        return _Verdict(
            kind="kernel",
            facts=facts,
            role=role(facts, facts if is_main else main[1] if main else None),
            kernel_id=kernel.id,
            kernel=above,
            evidence="The kernel's own process." if is_main else evidence,
        )

    def _kernel_inherited_from(
        self, process: psutil.Process, facts: Facts, scene: _Scene
    ) -> psutil.Process | None:
        """The running kernel whose environment an orphan carries, if only one can be meant."""
        mine = processes.inherited(process)
        if mine.session is None or mine.server not in self._servers or facts.started_at is None:
            return None
        candidates = [
            kernel.process
            for kernel in scene.kernels.values()
            if kernel.process is not None
            and kernel.started_at is not None
            and kernel.started_at <= facts.started_at
            and processes.inherited(kernel.process) == mine
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _remember(self, process: psutil.Process, kernel: psutil.Process) -> None:
        self._started_by[process] = kernel
        self._started_by.move_to_end(process)
        while len(self._started_by) > REMEMBERED:
            self._started_by.popitem(last=False)

    def _of_stranger(self, process: psutil.Process, facts: Facts) -> _Verdict | None:
        if process.pid <= 4:
            return _Verdict(kind="system", facts=facts, evidence="A part of the system.")
        if facts.owner is not None and facts.owner == self._me:
            return None
        if facts.owner in (None, 0):
            return _Verdict(kind="system", facts=facts, evidence="Belongs to the system.")
        return _Verdict(kind="other-user", facts=facts, evidence="Belongs to another user.")

    def _of_leftover(
        self, process: psutil.Process, facts: Facts, line: list[psutil.Process], scene: _Scene
    ) -> _Verdict | None:
        """What a kernel that this server doesn't run (any more) has left, or still uses."""
        above = self._started_by.get(process)
        gone = scene.ended.get(above) if above is not None else None
        gone = gone or next((scene.ended[p] for p in line if p in scene.ended), None)
        if gone is not None:
            return _Verdict(
                kind="leftover",
                facts=facts,
                role=role(facts, None),
                kernel_id=gone.id,
                notebook=gone.notebook,
                evidence="Started by a kernel that has ended since.",
            )
        main = _look_at_main(line, {process: facts}, needs_connection_file=True)
        mine = processes.inherited(main[0] if main else process)
        if main is None and not mine:
            return None
        kernel_id = processes.kernel_of_command(main[1].command) if main else None
        gone = scene.ended_ids.get(kernel_id) if kernel_id else None
        kind, evidence = self._owner_outside(gone, mine, main is not None)
        return _Verdict(
            kind=kind,
            facts=facts,
            role=role(facts, facts if main and main[0] == process else main[1] if main else None),
            kernel_id=gone.id if gone else None,
            notebook=gone.notebook if gone else self._path(mine.session),
            evidence=evidence,
        )

    def _owner_outside(
        self, gone: EndedKernel | None, mine: Inherited, has_kernel: bool
    ) -> tuple[wire.HolderKind, str]:
        if gone is not None or mine.server in self._servers:
            return "leftover", "Started by a kernel that its server no longer runs."
        if mine.server is not None and not psutil.pid_exists(mine.server):
            return "leftover", "Started by a kernel whose server has ended."
        if has_kernel:
            return "other-kernel", "A kernel of another program, such as a second server or an IDE."
        return "other-kernel", "Started by a kernel of another server."

    def _path(self, session: str | None) -> str | None:
        """A notebook's path as people know it, from its path on disk."""
        if not session:
            return None
        path = Path(session)
        if self._root is not None and path.is_relative_to(self._root):
            return printable(path.relative_to(self._root).as_posix())
        return printable(path.name)


def _look_at_main(
    line: list[psutil.Process],
    looked: dict[psutil.Process, Facts],
    *,
    needs_connection_file: bool = False,
) -> tuple[psutil.Process, Facts] | None:
    """The kernel's own process in ``line``, which leads up from a holder, with its facts.

    That is the topmost one that was started with the connection file: above it are wrappers
    (conda run, uv run, bash), below it what it started or forked. A wrapper carries the file too,
    but runs another program than the one below it.
    """
    found: tuple[psutil.Process, Facts] | None = None
    last: tuple[psutil.Process, Facts] | None = None
    for process in line:
        try:
            last = process, looked.get(process) or processes.look(process)
        except psutil.NoSuchProcess:
            continue
        if processes.kernel_of_command(last[1].command) is None:
            continue
        if found is None or last[1].command == found[1].command:
            found = last
    return found or (None if needs_connection_file else last)


def _base_name(name: str | None) -> str | None:
    """The program in a command as drivers give it."""
    if not name:
        return None
    words = name.split()
    base = words[0].replace("\\", "/").rsplit("/", 1)[-1] if words else ""
    return printable(base, processes.NAME_LIMIT) or None
