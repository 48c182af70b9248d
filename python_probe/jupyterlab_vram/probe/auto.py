"""The real GPU: NVML, with nvidia-smi where NVML is absent or can't be trusted."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from .. import wire
from .nvidia_smi import NvidiaSmiProbe
from .nvml import NvmlProbe
from .processes import views
from .reading import Probe, Reading


class AutoProbe:
    """Never the simulated GPU: that one must be asked for."""

    def __init__(self, nvml: Probe | None = None, nvidia_smi: Probe | None = None) -> None:
        self._nvml = nvml or NvmlProbe()
        self._nvidia_smi = nvidia_smi or NvidiaSmiProbe()
        self._source: wire.Source = "nvml"

    @property
    def source(self) -> wire.Source:
        """What answered last."""
        return self._source

    def read(self) -> Reading:
        reading = self._nvml.read()
        if reading.state == "no-library":
            reading = self._without_nvml(reading)
        elif reading.doubt:
            reading = self._with_other_processes(reading)
        self._source = reading.source
        return reading

    def close(self) -> None:
        self._nvml.close()
        self._nvidia_smi.close()

    def _without_nvml(self, missing: Reading) -> Reading:
        reading = self._nvidia_smi.read()
        if reading.state == "no-library" and missing.problem and reading.problem:
            tried = list(dict.fromkeys([*missing.problem.tried, *reading.problem.tried]))
            problem = msgspec.structs.replace(missing.problem, tried=tried)
            return replace(missing, problem=problem)
        return reading

    def _with_other_processes(self, reading: Reading) -> Reading:
        """NVML's figures of the GPUs with nvidia-smi's processes, if those can be true."""
        other = self._nvidia_smi.read()
        here = {gpu.uuid for gpu in reading.gpus}
        if other.state != "ok" or other.doubt or not here >= {p.gpu for p in other.processes}:
            return reading
        doubt = f"{reading.doubt} Processes are taken from nvidia-smi instead."
        return replace(
            reading,
            processes=other.processes,
            views=views(reading.gpus, other.processes, doubt),
            doubt=doubt,
        )
