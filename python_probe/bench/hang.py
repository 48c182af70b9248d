"""How late the server's event loop is while a driver call hangs for ten seconds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles

from jupyterlab_vram.simulated.ledger import Ledger

from .clients import Received, browsers
from .extension import STEP
from .machine import eight_gpus, thirty_processes
from .row import Row, milliseconds
from .server import JupyterServer, jupyter_server

ROUNDS = 3
HANG = 10.0
"""Seconds."""
QUIET = 3.0
"""Seconds that are looked at without anything of ours, to know what the computer adds."""
MOST = 0.005
KERNELS = 3


def measure() -> list[Row]:
    quiet, hanging = [], []
    with (
        eight_gpus() as (ledger, environment),
        thirty_processes(ledger, environment),
        jupyter_server(environment) as server,
    ):
        server.hold(ledger, server.start_kernels(KERNELS))
        for _ in range(ROUNDS):
            quiet.append(late(server, QUIET))
            with browsers(server, 1) as received, hung(ledger, received), visitor(server):
                hanging.append(late(server, HANG - 0.5))
    worst = median(hanging)
    return [
        Row(
            measure=f"Event loop late (99th percentile) while a driver call hangs for {HANG:.0f} s "
            "and a browser looks and asks every route",
            ours=milliseconds(worst),
            against=f"at most {milliseconds(MOST)} ({milliseconds(median(quiet))} of the server "
            "alone)",
            holds=worst <= MOST,
        )
    ]


def late(server: JupyterServer, seconds: float) -> float:
    """The 99th percentile of what somebody waits who comes at any moment."""
    delays: list[float] = server.ask(f"bench/delays?seconds={seconds}")["delays"]
    # Who is late sees less often that he is late: a long delay stands for all moments within it.
    waits = [delay - k * STEP for delay in delays for k in range(int(delay / STEP) + 1)]
    return quantiles(waits, n=100)[98]


@contextmanager
def hung(ledger: Ledger, received: Received) -> Iterator[None]:
    """The next driver call hangs; at the end, the browser must have been told so."""
    ledger.inject("nvmlDeviceGetMemoryInfo_v2", slow_ms=int(HANG * 1000), count=1)
    yield
    told = json.loads(received.last)
    assert told["state"] == "timeout", told["state"]
    ledger.clear_injected()


@contextmanager
def visitor(server: JupyterServer) -> Iterator[None]:
    """Somebody who opens the panel meanwhile, and again and again."""
    left = threading.Event()

    def visit() -> None:
        while not left.wait(0.2):
            for route in ("api/status", "jupyterlab-vram/config", "jupyterlab-vram/history"):
                server.ask(route)

    thread = threading.Thread(target=visit)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
