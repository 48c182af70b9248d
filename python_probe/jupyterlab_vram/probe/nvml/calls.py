"""Single driver calls in our units, over the generations of the driver.

Each takes a device's handle and raises ``NVMLError``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pynvml as nv

from ... import wire
from ..throttling import throttling as reasons

Listing = Callable[[Any], list[Any]]

LIBRARY_GONE = (
    nv.NVML_ERROR_UNINITIALIZED,
    nv.NVML_ERROR_DRIVER_NOT_LOADED,
    nv.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
)
BROKEN: dict[int, wire.Health] = {
    nv.NVML_ERROR_GPU_IS_LOST: "lost",
    nv.NVML_ERROR_RESET_REQUIRED: "needs-reset",
}
UNSUPPORTED = (
    nv.NVML_ERROR_NOT_SUPPORTED,
    nv.NVML_ERROR_FUNCTION_NOT_FOUND,
    nv.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
)
REFUSED = (*UNSUPPORTED, nv.NVML_ERROR_NO_PERMISSION, nv.NVML_ERROR_NO_DATA)
"""Answers that are no fault of the GPU."""


# gpustat, where another extension imports it, puts a function without versions in its place.
_memory_info = inspect.unwrap(nv.nvmlDeviceGetMemoryInfo)


def memory(handle: Any) -> wire.Memory:
    """``used`` is without the driver's reserve, except on drivers before 510, which don't tell."""
    try:
        info = _memory_info(handle, nv.nvmlMemory_v2)
    except nv.NVMLError as error:
        if error.value not in UNSUPPORTED:
            raise
        info = _memory_info(handle)
        return wire.Memory(total=info.total, used=info.used, free=info.free)
    return wire.Memory(total=info.total, used=info.used, free=info.free, reserved=info.reserved)


def utilization(handle: Any) -> tuple[float, float]:
    """Of the GPU and of its memory bus."""
    rates = nv.nvmlDeviceGetUtilizationRates(handle)
    return share(rates.gpu), share(rates.memory)


def encoder(handle: Any) -> float:
    return share(nv.nvmlDeviceGetEncoderUtilization(handle)[0])


def decoder(handle: Any) -> float:
    return share(nv.nvmlDeviceGetDecoderUtilization(handle)[0])


def temperature(handle: Any) -> float:
    try:
        return float(nv.nvmlDeviceGetTemperature(handle, nv.NVML_TEMPERATURE_GPU))
    except nv.NVMLError_FunctionNotFound:  # Announced to be gone in CUDA 14.
        return float(nv.nvmlDeviceGetTemperatureV(handle, nv.NVML_TEMPERATURE_GPU))


def slowdown(handle: Any) -> float:
    return float(
        nv.nvmlDeviceGetTemperatureThreshold(handle, nv.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
    )


def power(handle: Any) -> float:
    return float(nv.nvmlDeviceGetPowerUsage(handle)) / 1000


def power_limit(handle: Any) -> float:
    return float(nv.nvmlDeviceGetEnforcedPowerLimit(handle)) / 1000


def sm_clock(handle: Any) -> float:
    return float(nv.nvmlDeviceGetClockInfo(handle, nv.NVML_CLOCK_SM))


def memory_clock(handle: Any) -> float:
    return float(nv.nvmlDeviceGetClockInfo(handle, nv.NVML_CLOCK_MEM))


def fan(handle: Any) -> float:
    return share(nv.nvmlDeviceGetFanSpeed(handle))


def throttling(handle: Any) -> list[str]:
    try:
        mask = nv.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nv.NVMLError_FunctionNotFound:  # Before 535 it had another name.
        mask = nv.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return reasons(mask)


def pcie(handle: Any) -> wire.Traffic:
    """Slow: real boards measure for 20 ms in each direction during the call."""
    rx = nv.nvmlDeviceGetPcieThroughput(handle, nv.NVML_PCIE_UTIL_RX_BYTES)
    tx = nv.nvmlDeviceGetPcieThroughput(handle, nv.NVML_PCIE_UTIL_TX_BYTES)
    return wire.Traffic(rx=rx * 1000.0, tx=tx * 1000.0)


def pci_bus_id(handle: Any) -> str:
    return str(nv.nvmlDeviceGetPciInfo(handle).busId)


def compute_processes(handle: Any) -> list[tuple[int, int | None]]:
    """(pid, bytes or None) of what computes."""
    return _listed(
        handle,
        nv.nvmlDeviceGetComputeRunningProcesses_v3,
        nv.nvmlDeviceGetComputeRunningProcesses_v2,
    )


def mps_processes(handle: Any) -> list[tuple[int, int | None]]:
    """(pid, bytes or None) of what computes through an MPS server."""
    return _listed(
        handle,
        nv.nvmlDeviceGetMPSComputeRunningProcesses_v3,
        nv.nvmlDeviceGetMPSComputeRunningProcesses_v2,
    )


def graphics_processes(handle: Any) -> list[tuple[int, int | None]]:
    """(pid, bytes or None) of what draws."""
    return _listed(
        handle,
        nv.nvmlDeviceGetGraphicsRunningProcesses_v3,
        nv.nvmlDeviceGetGraphicsRunningProcesses_v2,
    )


def _listed(handle: Any, newest: Listing, older: Listing) -> list[tuple[int, int | None]]:
    try:
        rows = newest(handle)
    except nv.NVMLError_FunctionNotFound:  # Before 510.
        rows = older(handle)
    return [(row.pid, row.usedGpuMemory) for row in rows]


def slices(handle: Any) -> list[Any]:
    """Handles of the MIG slices that a card is cut into."""
    try:
        if nv.nvmlDeviceGetMigMode(handle)[0] != nv.NVML_DEVICE_MIG_ENABLE:
            return []
        most = nv.nvmlDeviceGetMaxMigDeviceCount(handle)
    except nv.NVMLError as error:
        if error.value in UNSUPPORTED:
            return []
        raise
    found = []
    for number in range(most):
        try:
            found.append(nv.nvmlDeviceGetMigDeviceHandleByIndex(handle, number))
        except nv.NVMLError_NotFound:
            continue
    return found


def driver() -> wire.Driver:
    """The driver's versions, as far as it tells them; never raises."""
    facts = wire.Driver()
    with suppress(nv.NVMLError, UnicodeDecodeError):
        facts.version = nv.nvmlSystemGetDriverVersion()
    with suppress(nv.NVMLError):
        number = nv.nvmlSystemGetCudaDriverVersion_v2()
        facts.cuda_version = f"{number // 1000}.{number % 1000 // 10}"
    return facts


def share(percent: int) -> float:
    """0..1. Fans may be reported faster than their nominal full speed."""
    return min(percent / 100, 1.0)
