"""Reading the driver through its own program, where NVML is absent or can't be trusted."""

from .probe import NvidiaSmiProbe

__all__ = ["NvidiaSmiProbe"]
