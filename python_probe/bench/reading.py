"""One reading of eight GPUs with 30 processes, against nvidia-ml-py, nvitop and gpustat."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

from jupyterlab_vram import wire
from jupyterlab_vram.kernels.attribution import Attributor
from jupyterlab_vram.probe.nvml import NvmlProbe
from jupyterlab_vram.probe.open_devices import opens_gpu
from jupyterlab_vram.simulated.ledger import Ledger

from .machine import GPUS, PROCESSES, eight_gpus, read_here, thirty_processes
from .peers import peer
from .plain import Reader, plain_reader
from .row import Row, compared

ROUNDS = 15
READINGS = 20
"""A round, of ours and of the plain one."""
CACHED = 1.05
"""Seconds; nvitop answers from its cache for one."""


def measure() -> list[Row]:
    with eight_gpus() as (ledger, environment), thirty_processes(ledger, environment):
        read_here(ledger)
        probe, plain = NvmlProbe(), plain_reader()
        check_same_calls(ledger, probe, plain)
        with peer("nvitop", environment) as nvitop, peer("gpustat", environment) as gpustat:
            named = names_too(probe)
            names = [holder.name for holder in named()]
            assert None not in names
            for seen in (len(names), nvitop.processes, gpustat.processes):
                assert seen == PROCESSES
            contenders: list[Callable[[], float]] = [
                lambda: seconds(probe.read),
                lambda: seconds(plain),
                lambda: seconds(named),
                lambda: nvitop.seconds(1),
                lambda: gpustat.seconds(1),
            ]
            rounds = []
            for _ in range(ROUNDS):
                time.sleep(CACHED)
                rounds.append([take() for take in contenders])
    ours, bare, ours_named, by_nvitop, by_gpustat = map(median, zip(*rounds, strict=True))
    what = f"One reading of {GPUS} GPUs with {PROCESSES} processes"
    return [
        compared(what, ours, bare, "nvidia-ml-py, the same calls", 2),
        compared(f"{what}, and whose they are", ours_named, by_nvitop, "nvitop", 1),
        compared(f"{what}, and whose they are", ours_named, by_gpustat, "gpustat", 1),
    ]


def seconds(read: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(READINGS):
        read()
    return (time.perf_counter() - began) / READINGS


def names_too(probe: NvmlProbe) -> Callable[[], Sequence[wire.Holder]]:
    """A reading with what nvitop and gpustat tell as well: the names behind the numbers."""
    attributor = Attributor(opens_gpu)
    return lambda: attributor.holders(probe.read().processes, ())


def check_same_calls(ledger: Ledger, probe: NvmlProbe, plain: Reader) -> None:
    """The plain reader makes the very calls of our probe, which reads all there is."""
    first = probe.read()
    assert (first.state, len(first.gpus), len(first.processes)) == ("ok", GPUS, PROCESSES)
    made = []
    for read in (probe.read, plain):
        ledger.reset_calls()
        read()
        made.append(ledger.calls())
    if made[0] != made[1]:
        raise AssertionError(f"Not the same driver calls:\nours  {made[0]}\nplain {made[1]}")
