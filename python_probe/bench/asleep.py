"""Driver calls while nobody looks and no kernel uses a GPU: none, so that the GPU can sleep."""

from __future__ import annotations

import time

from jupyterlab_vram.server.sampler import BACKGROUND

from .machine import eight_gpus
from .row import Row
from .server import jupyter_server

WATCHED = 2 * BACKGROUND + 5
"""Seconds: time for two looks at the kernels."""


def measure() -> list[Row]:
    with eight_gpus() as (ledger, environment), jupyter_server(environment) as server:
        server.start_kernels(1)
        time.sleep(WATCHED)
        asleep = sum(ledger.calls().values())
        # What counts them can count.
        assert server.ask("jupyterlab-vram/snapshot")["state"] == "ok"
        awake = sum(ledger.calls().values())
        assert awake > 0
    return [
        Row(
            measure=f"Driver calls from the server's start and for {WATCHED:.0f} s, no browser "
            "looks, one kernel runs without the GPU",
            ours=f"{asleep} (then {awake} for the first reading)",
            against="0",
            holds=asleep == 0,
        )
    ]
