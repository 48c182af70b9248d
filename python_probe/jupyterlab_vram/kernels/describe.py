"""Snapshots of one server."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from .. import wire
from ..probe.reading import Reading
from .attribution import Attributor, OpensGpu
from .figures import LastMeasured
from .registry import KernelRegistry
from .snapshot import build_snapshot


class Describer:
    """Turns readings into snapshots with this server's kernels; keeps what that takes.

    ``measured`` is where figures from inside kernels are put to appear in later snapshots.
    """

    def __init__(
        self, registry: KernelRegistry, opens_gpu: OpensGpu, *, show_other_users: bool = False
    ) -> None:
        self.measured = LastMeasured()
        self._registry = registry
        self._show_other_users = show_other_users
        self._attributor = Attributor(
            opens_gpu, servers=[os.getpid()], root=registry.kernel_manager.root_dir
        )
        # The default pool would take each of its threads in turn, and the heap of each would keep
        # a few MiB. It also may be full of other extensions' work.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vram-processes")

    async def snapshot(self, reading: Reading) -> wire.Snapshot:
        """Looks into /proc in a thread, so that the event loop never waits for it."""
        kernels = await self._registry.list()
        holders = await asyncio.get_running_loop().run_in_executor(
            self._thread,
            self._attributor.holders,
            reading.processes,
            kernels,
            self._registry.ended(),
        )
        return build_snapshot(
            reading,
            kernels,
            holders,
            measured=self.measured.of(kernels),
            show_other_users=self._show_other_users,
        )
