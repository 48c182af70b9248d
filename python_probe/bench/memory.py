"""The server's memory after 1,000 and after 10,000 samples."""

from __future__ import annotations

from statistics import linear_regression

import psutil

from .clients import browsers
from .machine import GPUS, PROCESSES, eight_gpus, thirty_processes
from .row import Row
from .server import jupyter_server

SAMPLES = 10_000
STEP = 1_000
KERNELS = 2
MOST = 200
"""Bytes a sample; a sample as such has more than 10,000."""


def measure() -> list[Row]:
    with (
        eight_gpus() as (ledger, environment),
        thirty_processes(ledger),
        jupyter_server(environment) as server,
    ):
        for number, kernel in enumerate(server.start_kernels(KERNELS)):
            server.take_memory(kernel, number)
        counts = range(STEP, SAMPLES + 1, STEP)
        resident = []
        with browsers(server, 1):
            for _ in counts:
                answer = server.ask(f"bench/samples?count={STEP}&pause=0")
                assert answer["state"] == "ok" and answer["bytes"] > 10_000
                resident.append(psutil.Process(server.pid).memory_info().rss)
        slope = linear_regression(counts, resident).slope
    return [
        Row(
            measure=f"Growth of the server from {STEP:,} to {SAMPLES:,} samples of {GPUS} GPUs, "
            f"{PROCESSES} processes and {KERNELS} kernels, one browser connected",
            ours=f"{slope:.0f} B a sample ({resident[0] >> 20} MiB, then {resident[-1] >> 20} MiB)",
            against=f"at most {MOST} B a sample",
            holds=slope <= MOST,
        )
    ]
