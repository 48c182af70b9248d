"""Reading the simulated GPU, which is used only when somebody asks for it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from .. import wire
from ..simulated import layout
from ..simulated.ledger import Ledger, LedgerError, Memory, State
from . import problems
from .paths import put
from .processes import merge, views
from .reading import GpuProcess, Reading, Trouble
from .throttling import throttling
from .unified import share_ram

NOT_SUPPORTED = "Not Supported"


RESET_REQUIRED = layout.NVML_ERRORS["RESET_REQUIRED"]

COLUMNS = {
    "utilization.gpu": ("gpu_use", 0.01),
    "utilization.memory_bandwidth": ("memory_use", 0.01),
    "utilization.encoder": ("encoder_use", 0.01),
    "utilization.decoder": ("decoder_use", 0.01),
    "temperature.now": ("temperature", 1.0),
    "temperature.slowdown": ("slowdown_at", 1.0),
    "power.draw": ("power", 0.001),
    "power.limit": ("power_limit", 0.001),
    "clocks.sm": ("clock_sm", 1.0),
    "clocks.memory": ("clock_memory", 1.0),
    "fan": ("fan", 0.01),
    "pcie.rx": ("pcie_rx", 1000.0),
    "pcie.tx": ("pcie_tx", 1000.0),
}
"""Path in the reading to the ledger's column (None there: not supported) and its unit in ours."""


class SimulatedProbe:
    """A `Probe` over the ledger, in Python alone.

    Errors and delays that are injected for ``nvmlInit_v2``, and errors for
    ``nvmlDeviceGetHandleByIndex_v2``, do here what they do to the real driver.
    """

    source: wire.Source = "simulated"

    def __init__(self) -> None:
        self._worked = False

    def read(self) -> Reading:
        try:
            with Ledger.open() as ledger:
                code = ledger.call("nvmlInit_v2")
                if code:
                    trouble = problems.of_code(code, f"simulated error {code}", self._worked)
                    return Reading.without(self.source, trouble)
                state = ledger.state()
                codes = [
                    ledger.call("nvmlDeviceGetHandleByIndex_v2", index)
                    for index in range(len(state.devices))
                ]
        except (LedgerError, OSError) as error:
            return Reading.without(self.source, _unreadable(error))
        self._worked = True
        return reading(state, codes)

    def close(self) -> None:
        """The ledger is open during a reading only."""


def reading(state: State, codes: Sequence[int]) -> Reading:
    """The ledger's state as a reading; ``codes``: what asking for each GPU ended with."""
    gpus: list[wire.Gpu] = []
    processes: list[GpuProcess] = []
    sliced = {device.parent for device in state.devices if device.parent is not None}
    for index, (device, memory) in enumerate(zip(state.devices, state.memory, strict=True)):
        gpu = _bare(index, device, state)
        gpus.append(gpu)
        if codes[index]:
            gpu.health = "needs-reset" if codes[index] == RESET_REQUIRED else "lost"
            gpu.unknown["health"] = f"Simulated error {codes[index]}"
            continue
        _fill(gpu, device, memory)
        own = [] if index in sliced else _processes(index, device, state)
        if device.no_memory_info:
            share_ram(gpu, own)
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


def _bare(index: int, device: layout.Device, state: State) -> wire.Gpu:
    siblings = [i for i, other in enumerate(state.devices) if other.parent == device.parent]
    return wire.Gpu(
        uuid=device.uuid,
        index=siblings.index(index),
        name=device.name,
        pci_bus_id=device.bus_id or None,
        parent=None if device.parent is None else state.devices[device.parent].uuid,
    )


def _fill(gpu: wire.Gpu, device: layout.Device, memory: Memory) -> None:
    gpu.throttling = throttling(device.throttling)
    if not device.no_memory_info:
        gpu.memory = wire.Memory(
            total=memory.total, used=memory.used, free=memory.free, reserved=memory.reserved
        )
    for path, (column, scale) in COLUMNS.items():
        value = getattr(device, column)
        if value is None:
            gpu.unknown[path] = NOT_SUPPORTED
        else:
            put(gpu, path, round(value * scale, 6))


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
