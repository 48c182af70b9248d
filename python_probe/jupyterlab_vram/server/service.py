"""What one server has of everything, put together."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from .. import wire
from ..kernels import offers
from ..kernels.asking import Asking
from ..kernels.channel import KernelChannel
from ..kernels.describe import Describer
from ..kernels.ending import end
from ..kernels.errors import NotAllowed
from ..kernels.parked import ParkedKernels
from ..kernels.registry import KernelRegistry
from ..kernels.remedies import Remedies
from ..probe import DriverThread, ProbeName, Reading, gpu_in_use_by, make_probe, timeout_reading
from ..probe.open_devices import opens_gpu
from ..simulated.ledger import LedgerError
from .config import ConfigStore, Refused
from .history import HistoryRecord
from .sampler import Sample, Sampler
from .simulation import Simulation
from .stream import Hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(offers.Rules):
    """What the operator allows; ``app.py`` says what each means."""

    show_other_users: bool = False


class Service:
    """Sampler, history, kernels and stream of one server; ``start`` and ``close`` them together."""

    def __init__(
        self,
        *,
        kernel_manager: Any,
        session_manager: Any,
        config: ConfigStore,
        rules: Rules,
        read_limit: float,
        log: logging.Logger,
    ) -> None:
        self.config = config
        self.history = HistoryRecord()
        self.hub = Hub(lambda: self.sampler.hurry(), log)
        self._rules = rules
        self._source = config.current.source
        self._simulation = Simulation()
        if self._source == "simulated":
            try:
                self._simulation.enter()
            except (LedgerError, OSError) as error:
                # Each reading says so as well, in the panel.
                log.warning("The simulated GPU can't be used: %s", error)
        self._registry = KernelRegistry(kernel_manager, session_manager)
        self._channel = KernelChannel(kernel_manager)
        self._describer = Describer(
            self._registry, self._opens_gpu, show_other_users=rules.show_other_users
        )
        self._asking = Asking(
            self._registry, self._channel, self._describer.measured, self._may_hold
        )
        self.sampler = Sampler(
            self._driver(),
            describe=self._describer.snapshot,
            timed_out=self._timed_out,
            in_use=self._in_use,
            interval=lambda: self.config.current.interval,
            read_limit=read_limit,
            watched=lambda: len(self.hub) > 0,
            publish=self._publish,
            log=log,
        )
        self.remedies = Remedies(
            self._registry,
            self._channel,
            self._fresh,
            self._describer.measured,
            rules=rules,
            park_ticked=lambda: self.config.current.park_ticked,
        )
        self._parked = ParkedKernels(self._registry, self._channel, self._describer.measured)

    def start(self) -> None:
        """Needs a running event loop."""
        self.sampler.start()

    async def close(self) -> None:
        """Returns at once, also while a driver call hangs."""
        await self.remedies.close()
        self.hub.close()
        await self._parked.close()
        await self.sampler.close()
        await self._asking.close()
        self._channel.close()
        self._simulation.leave()

    async def configure(self, wanted: wire.Config) -> wire.Config:
        """Put new settings in force and tell all clients.

        Raises
        ------
        Refused
            Not allowed here, or the simulated GPU can't be used; nothing has changed.
        """
        if self._rules.read_only:
            raise Refused("The operator of this server allows looking only (read_only is on).")
        self.config.check(wanted)
        if wanted.source == "simulated":
            try:
                self._simulation.enter()
            except (LedgerError, OSError) as error:
                raise Refused(f"The simulated GPU can't be used: {error}") from error
        now = await self.config.change(wanted)
        if now.source != self._source:
            self._use(now.source)
        else:
            self.sampler.hurry()
        self.hub.config(now)
        return now

    async def end(self, pid: int, started_at: float) -> wire.Ended:
        """End a process that holds GPU memory.

        Raises
        ------
        NotAllowed, NotYours
            It may not be ended from here; nothing was done to it.
        """
        if self._rules.read_only or not self._rules.allow_end_processes:
            raise NotAllowed("The operator of this server does not allow ending processes.")
        sample = await self.sampler.read()
        ended = await end(pid, started_at, sample.snapshot)
        self.sampler.hurry()
        return ended

    def _use(self, source: ProbeName) -> None:
        """Read from ``source`` from now on; kernels that start from now on are told of it."""
        self._source = source
        if source == "simulated":
            self._simulation.enter()
        else:
            self._simulation.leave()
        self.sampler.use(self._driver())

    def _driver(self) -> DriverThread:
        source = self._source
        return DriverThread(lambda: make_probe(source))

    def _timed_out(self, seconds: float) -> Reading:
        asked: wire.Source = "nvml" if self._source == "auto" else self._source
        return timeout_reading(self.sampler.driver.source or asked, seconds)

    async def _fresh(self) -> wire.Snapshot:
        return (await self.sampler.read()).snapshot

    def _opens_gpu(self, pid: int) -> bool | None:
        return opens_gpu(pid, self._files())

    def _may_hold(self, pid: int) -> bool:
        return self._opens_gpu(pid) is not False or gpu_in_use_by([pid], self._files())

    def _files(self) -> wire.Source:
        """Where to look for who has a GPU open: the ledger, or the driver's device files."""
        return "simulated" if self._source == "simulated" else "nvml"

    async def _in_use(self) -> bool:
        kernels = await self._registry.list()
        pids = [kernel.pid for kernel in kernels if kernel.pid is not None]
        return bool(pids) and await asyncio.to_thread(gpu_in_use_by, pids, self._files())

    def _publish(self, sample: Sample) -> None:
        self.history.add(sample.snapshot, sample.every)
        self.hub.snapshot(sample.body)
        if len(self.hub) > 0:
            self._parked.follow(sample.snapshot)
        allowed = self.config.current.ask_kernels and self._rules.allow_code_in_kernels
        if allowed and len(self.hub) > 0:
            self._asking.look(sample.snapshot)
