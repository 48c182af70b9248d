"""What our probe asks for, as a bare list of nvidia-ml-py's calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pynvml as nv

Reader = Callable[[], list[Any]]


def plain_reader() -> Reader:
    """A function that makes one reading: everything that changes, of all GPUs.

    PCIe traffic, which takes real boards 40 ms, is asked of one GPU in turn, as our probe does.
    """
    nv.nvmlInit()
    handles = [nv.nvmlDeviceGetHandleByIndex(i) for i in range(nv.nvmlDeviceGetCount())]
    turns = itertools.cycle(handles)

    def read() -> list[Any]:
        its_turn = next(turns)
        return [read_gpu(handle, handle is its_turn) for handle in handles]

    return read


def read_gpu(handle: Any, pcie: bool) -> list[Any]:
    # The board has no fan, which our probe learns at its first reading and doesn't ask again.
    answers = [
        nv.nvmlDeviceGetMemoryInfo(handle, nv.nvmlMemory_v2),
        nv.nvmlDeviceGetUtilizationRates(handle),
        nv.nvmlDeviceGetEncoderUtilization(handle),
        nv.nvmlDeviceGetDecoderUtilization(handle),
        nv.nvmlDeviceGetTemperature(handle, nv.NVML_TEMPERATURE_GPU),
        nv.nvmlDeviceGetPowerUsage(handle),
        nv.nvmlDeviceGetClockInfo(handle, nv.NVML_CLOCK_SM),
        nv.nvmlDeviceGetClockInfo(handle, nv.NVML_CLOCK_MEM),
        nv.nvmlDeviceGetCurrentClocksEventReasons(handle),
        nv.nvmlDeviceGetComputeRunningProcesses_v3(handle),
        nv.nvmlDeviceGetMPSComputeRunningProcesses_v3(handle),
        nv.nvmlDeviceGetGraphicsRunningProcesses_v3(handle),
    ]
    if pcie:
        answers += [
            nv.nvmlDeviceGetPcieThroughput(handle, nv.NVML_PCIE_UTIL_RX_BYTES),
            nv.nvmlDeviceGetPcieThroughput(handle, nv.NVML_PCIE_UTIL_TX_BYTES),
        ]
    return answers
