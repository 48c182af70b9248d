"""The server's memory after 1,000 and after 10,000 samples."""

from __future__ import annotations

from statistics import linear_regression

import psutil

from .clients import browsers
from .machine import eight_gpus, thirty_processes
from .row import Row
from .server import jupyter_server

SAMPLES = 10_000
STEP = 1_000
KERNELS = 2
MOST_BLOCKS = 0.1
"""Blocks of Python's memory a sample; one that was kept would be hundreds."""
MOST_GROWTH = 0.05
"""Of the process, whose heap is not Python's objects alone."""


def measure() -> list[Row]:
    counts = range(STEP, SAMPLES + 1, STEP)
    blocks, resident = [], []
    with (
        eight_gpus() as (ledger, environment),
        thirty_processes(ledger, environment),
        jupyter_server(environment) as server,
    ):
        server.hold(ledger, server.start_kernels(KERNELS))
        with browsers(server, 1):
            for _ in counts:
                answer = server.ask(f"bench/samples?count={STEP}&pause=0")
                assert answer["state"] == "ok" and answer["bytes"] > 10_000
                blocks.append(server.ask("bench/blocks")["blocks"])
                resident.append(psutil.Process(server.pid).memory_info().rss)
    kept = linear_regression(counts, blocks).slope
    growth = resident[-1] / resident[0] - 1
    what = f"from {STEP:,} to {SAMPLES:,} samples, one browser connected"
    return [
        Row(
            measure=f"Memory blocks that Python keeps of a sample, {what}",
            ours=f"{kept:.3f}",
            against=f"at most {MOST_BLOCKS}",
            holds=kept <= MOST_BLOCKS,
        ),
        Row(
            measure=f"Growth of the server process {what}",
            ours=f"{growth:.1%} ({resident[0] >> 20} MiB, then {resident[-1] >> 20} MiB)",
            against=f"at most {MOST_GROWTH:.0%}",
            holds=growth <= MOST_GROWTH,
        ),
    ]
