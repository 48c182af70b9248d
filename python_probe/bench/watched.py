"""What a running cell loses to our looking at its kernel."""

from __future__ import annotations

import time

from jupyterlab_vram.kernels.asking import EVERY_BUSY

from .clients import browsers
from .machine import GPUS, eight_gpus
from .row import Row
from .server import JupyterServer, jupyter_server

LOOP = 2 * EVERY_BUSY
"""Seconds: time for two questions."""
LEAST = 0.995

# The driver's library is loaded, as in all that use the GPU: others are not asked.
HOLD = """
import ctypes; ctypes.CDLL("libcuda.so.1")
from jupyterlab_vram import simulated; kept = simulated.empty(1 << 30, "uint8")
"""
SPIN = f"""
import time
def spin():
    loop, process, end = time.thread_time(), time.process_time(), time.monotonic() + {LOOP}
    while time.monotonic() < end:
        for _ in range(10_000): pass
    return time.thread_time() - loop, time.process_time() - process
spent = spin()
"""


def measure() -> list[Row]:
    with eight_gpus() as (ledger, environment), jupyter_server(environment) as server:
        [kernel] = server.start_kernels(1)
        server.run(kernel, HOLD)
        # Kernels are asked where the driver hides them, which is the most that watching does.
        for gpu in range(GPUS):
            ledger.set_device(gpu, hide_processes=1)
        alone = speed(server, kernel)
        with browsers(server, 1):
            until_asked(server, kernel, 0.0)
            began = time.time()
            watched = speed(server, kernel)
            # What is measured has taken place.
            assert until_asked(server, kernel, began) <= time.time()
    return [
        Row(
            measure="Speed of a tight loop in a kernel that is watched and asked for its memory: "
            "its share of what the process computes",
            ours=f"{watched:.2%} ({alone:.2%} while nobody looks)",
            against=f"at least {LEAST:.1%}",
            holds=watched >= LEAST,
        )
    ]


def speed(server: JupyterServer, kernel: str) -> float:
    """1 if no other thread of the kernel's took time from the loop, whatever other programs do."""
    loop, process = server.run(kernel, SPIN, "spent")
    return float(loop / process)


def until_asked(server: JupyterServer, kernel: str, since: float) -> float:
    """When the kernel was asked last, after ``since``. Raises TimeoutError after half a minute."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for row in server.ask("jupyterlab-vram/snapshot")["kernels"]:
            if row["id"] == kernel and (row["asked_at"] or 0) > since:
                return float(row["asked_at"])
        time.sleep(0.2)
    raise TimeoutError("The kernel was not asked.")
