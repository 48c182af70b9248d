"""Reading the simulated GPU, which is used only when somebody asks for it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .. import wire
from ..simulated import layout
from ..simulated.ledger import Ledger, LedgerError, Memory, State
from .processes import merge, views
from .reading import GpuProcess, Reading, Trouble
from .throttling import throttling
from .unified import share_ram

NOT_SUPPORTED = "Not Supported"


@dataclass(frozen=True)
class _Column:
    """Where a value of the ledger goes; None there means that this GPU doesn't support it."""

    path: str
    column: str
    scale: float = 1.0


COLUMNS = (
    _Column("utilization.gpu", "gpu_use", 0.01),
    _Column("utilization.memory_bandwidth", "memory_use", 0.01),
    _Column("utilization.encoder", "encoder_use", 0.01),
    _Column("utilization.decoder", "decoder_use", 0.01),
    _Column("temperature.now", "temperature"),
    _Column("temperature.slowdown", "slowdown_at"),
    _Column("power.draw", "power", 0.001),
    _Column("power.limit", "power_limit", 0.001),
    _Column("clocks.sm", "clock_sm"),
    _Column("clocks.memory", "clock_memory"),
    _Column("pcie.rx", "pcie_rx", 1000.0),
    _Column("pcie.tx", "pcie_tx", 1000.0),
)


class SimulatedProbe:
    """A `Probe` over the ledger, in Python alone."""

    source: wire.Source = "simulated"

    def __init__(self) -> None:
        self._ledger: Ledger | None = None

    def read(self) -> Reading:
        try:
            self._ledger = self._ledger or Ledger.open()
            state = self._ledger.state()
        except (LedgerError, OSError) as error:
            self.close()
            return Reading.without(self.source, _unreadable(error))
        return reading(state)

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def reading(state: State) -> Reading:
    """The ledger's state as a reading."""
    gpus: list[wire.Gpu] = []
    processes: list[GpuProcess] = []
    sliced = {device.parent for device in state.devices if device.parent is not None}
    for index, (device, memory) in enumerate(zip(state.devices, state.memory, strict=True)):
        gpus.append(_gpu(index, device, memory, state))
        own = [] if index in sliced else _processes(index, device, state)
        if device.no_memory_info:
            share_ram(gpus[index], own)
        processes += own
    version = state.driver.cuda_version
    return Reading(
        taken_at=time.time(),
        source="simulated",
        state="ok",
        views=views(gpus, processes, None),
        driver=wire.Driver(
            version=state.driver.driver_version,
            cuda_version=f"{version // 1000}.{version % 1000 // 10}",
        ),
        gpus=tuple(gpus),
        processes=tuple(processes),
    )


def _gpu(index: int, device: layout.Device, memory: Memory, state: State) -> wire.Gpu:
    cards = [i for i, other in enumerate(state.devices) if other.parent == device.parent]
    gpu = wire.Gpu(
        uuid=device.uuid,
        index=cards.index(index),
        name=device.name,
        pci_bus_id=device.bus_id or None,
        parent=None if device.parent is None else state.devices[device.parent].uuid,
        throttling=throttling(device.throttling),
    )
    if not device.no_memory_info:
        gpu.memory = wire.Memory(
            total=memory.total, used=memory.used, free=memory.free, reserved=memory.reserved
        )
    for path, column, scale in ((c.path, c.column, c.scale) for c in COLUMNS):
        value = getattr(device, column)
        if value is None:
            gpu.unknown[path] = NOT_SUPPORTED
        else:
            group, name = path.split(".")
            setattr(getattr(gpu, group), name, value * scale)
    if device.fan is None:
        gpu.unknown["fan"] = NOT_SUPPORTED
    else:
        gpu.fan = device.fan / 100
    return gpu


def _processes(index: int, device: layout.Device, state: State) -> list[GpuProcess]:
    if device.hide_processes:
        return []
    offset = state.driver.pid_offset
    listed = [
        (
            process.lists,
            process.pid + offset,
            None if device.wddm or process.flags & layout.NO_SIZE else process.bytes,
        )
        for process in state.processes
        if process.device == index and not process.flags & layout.HIDDEN
    ]
    return merge(
        device.uuid,
        [(pid, size) for lists, pid, size in listed if lists & (layout.COMPUTE | layout.MPS)],
        [(pid, size) for lists, pid, size in listed if lists & layout.GRAPHICS],
    )


def _unreadable(error: Exception) -> Trouble:
    return Trouble(
        "no-devices",
        wire.Problem(
            code="no-simulated-gpu",
            text=f"The simulated GPU can't be read: {error}",
            hint="Choose the real GPU in the settings, or start the Jupyter server again.",
        ),
    )
