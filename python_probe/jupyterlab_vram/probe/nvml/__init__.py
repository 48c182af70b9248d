"""Reading the driver through NVML. The only package that imports ``pynvml``."""

from .probe import NvmlProbe

__all__ = ["NvmlProbe"]
