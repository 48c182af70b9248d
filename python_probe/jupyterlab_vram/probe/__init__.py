"""What the GPU driver says, without any knowledge of Jupyter.

Importing this calls no driver and loads no driver library.
"""

from __future__ import annotations

from typing import Literal

from .driver_thread import DriverThread, DriverThreadClosed
from .open_devices import gpu_in_use_by
from .problems import starting_reading, timeout_reading
from .reading import GpuProcess, Probe, Reading

ProbeName = Literal["auto", "nvml", "nvidia-smi", "simulated"]

__all__ = [
    "DriverThread",
    "DriverThreadClosed",
    "GpuProcess",
    "Probe",
    "ProbeName",
    "Reading",
    "gpu_in_use_by",
    "make_probe",
    "starting_reading",
    "timeout_reading",
]


def make_probe(name: ProbeName) -> Probe:
    """The probe of this name; it takes hold of the driver with its first reading.

    ``auto`` is NVML, with nvidia-smi where NVML is absent or can't be trusted; never the simulated
    GPU, which must be asked for.
    """
    if name == "nvml":
        from .nvml import NvmlProbe

        return NvmlProbe()
    if name == "nvidia-smi":
        from .nvidia_smi import NvidiaSmiProbe

        return NvidiaSmiProbe()
    if name == "simulated":
        from .simulated import SimulatedProbe

        return SimulatedProbe()
    from .auto import AutoProbe

    return AutoProbe()
