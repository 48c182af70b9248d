"""How long the first answer of a kernel takes, and plans for kernels that are full of things."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from fake_driver.build import build
from frameworks import kernelspec
from frameworks.environment import CUDA
from jupyterlab_vram import agent

from .machine import eight_gpus
from .row import Row, milliseconds
from .server import JupyterServer, jupyter_server

TURNS = 5
LARGEST_TEXT = 60 * 1024
FIRST_ANSWER = 0.2
PLANS = {
    "10,000 tensors of PyTorch's": (
        0.5,
        10_000,
        "import torch; many = [torch.empty(9, device='cuda') for _ in range(10_000)]",
    ),
    "1,000,000 objects": (
        1.5,
        1_000_000,
        # Half of them in a chain: such objects can't be passed over as records of numbers.
        """
import torch
x = torch.empty(9, device="cuda")
class Node:
    def __init__(self, next):
        self.next = next
chain = None
for _ in range(500_000):
    chain = Node(chain)
many = [[number] for number in range(500_000)]
""",
    ),
}
"""What the kernel is full of, to the seconds that a plan for it may take, the objects that it must
have looked at, and the cell."""


def measure() -> list[Row]:
    rows = [text()]
    with (
        CUDA.in_use() as python,
        eight_gpus() as (ledger, environment),
        tempfile.TemporaryDirectory(prefix="vram-bench-") as data,
    ):
        kernelspec.write(Path(data), python, build(), ledger.path)
        with jupyter_server({**environment, "JUPYTER_PATH": data}) as server:
            rows.append(first_answer(server))
            rows += [plan(server, what, *bounds) for what, bounds in PLANS.items()]
    return rows


def text() -> Row:
    size = len(agent.install_expression(time.time()).encode())
    return Row(
        measure="Text that is sent to a kernel, once",
        ours=f"{size / 1024:.1f} KB",
        against=f"at most {LARGEST_TEXT / 1024:.0f} KB",
        holds=size <= LARGEST_TEXT,
    )


def first_answer(server: JupyterServer) -> Row:
    """Of kernels that were asked nothing yet: the agent goes in, and tells."""
    took = median(asked(server, kernel)[0] for kernel in server.start_kernels(TURNS))
    return Row(
        measure="First answer of an idle kernel, from the click to the plan",
        ours=milliseconds(took),
        against=f"at most {milliseconds(FIRST_ANSWER)}",
        holds=took <= FIRST_ANSWER,
    )


def plan(server: JupyterServer, what: str, bound: float, objects: int, cell: str) -> Row:
    kernel = server.ask("api/kernels", "POST", {"name": kernelspec.NAME})["id"]
    server.run(kernel, cell)
    asked(server, kernel)  # the agent goes in
    turns, looked_at = [], []
    for _ in range(TURNS):
        server.run(kernel, "pass")  # what was found before doesn't count any more
        took, answer = asked(server, kernel)
        turns.append(took)
        looked_at.append(answer["scan"]["objects"])
    server.ask(f"api/kernels/{kernel}", "DELETE")
    took = median(turns)
    return Row(
        measure=f"Plan for a kernel with {what}",
        ours=f"{milliseconds(took)}, {min(looked_at):,} objects looked at",
        against=f"at most {milliseconds(bound)}",
        holds=took <= bound and min(looked_at) >= objects,
    )


def asked(server: JupyterServer, kernel: str) -> tuple[float, Any]:
    """Seconds that a plan took, and the plan."""
    # The server hears of a cell's end by another socket than its user.
    while server.ask(f"api/kernels/{kernel}")["execution_state"] != "idle":
        time.sleep(0.02)
    began = time.perf_counter()
    answer = server.ask(f"jupyterlab-vram/kernels/{kernel}/plan")
    took = time.perf_counter() - began
    assert answer["state"] == "idle", answer["text"]
    return took, answer
