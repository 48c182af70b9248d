"""How fast a kernel's GPU data go to host RAM and come back."""

from __future__ import annotations

import ast
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from fake_driver import boards
from fake_driver.build import build
from frameworks import kernelspec
from frameworks.environment import CUDA
from jupyter_client.manager import KernelManager
from jupyterlab_vram import agent
from jupyterlab_vram.simulated.ledger import Ledger

from .row import Row

GIB = 1 << 30
TENSORS = 8
TURNS = 5
LEAST = 0.8

DATA = f"""
import time, torch
data = [torch.ones({2 * GIB} // {TENSORS}, dtype=torch.uint8).cuda() for _ in range({TENSORS})]
host = torch.ones({2 * GIB}, dtype=torch.uint8)
agent = get_ipython().kernel.shell_handlers[{agent.MESSAGE_TYPE!r}].__self__
def timed(do):
    began = time.perf_counter()
    assert do() is not False
    return time.perf_counter() - began
def ok(op):
    return agent._run(op, {{}}).get("ok", True)
"""
# In turns: other programs' load is each one's.
TURN = "(timed(host.clone), timed(lambda: ok('park')), timed(lambda: ok('restore')))"

Ask = Callable[[str, str], Any]


def measure() -> list[Row]:
    with kernel() as ask:
        ask(DATA, "")
        ask("", TURN)  # the first has the agent's files compiled
        turns = [ask("", TURN) for _ in range(TURNS)]
    copy, there, back = (median(figures) for figures in zip(*turns, strict=True))
    ratio = median(2 * turn[0] / (turn[1] + turn[2]) for turn in turns)
    return [
        Row(
            measure="Park and back, 2 GiB in 8 tensors of PyTorch's",
            ours=f"{4 / (there + back):.2f} GiB/s (there {2 / there:.2f}, back {2 / back:.2f})",
            against=f"{2 / copy:.2f} GiB/s, host RAM copied to fresh RAM, at least {LEAST:.0%}",
            ratio=ratio,
            holds=ratio >= LEAST,
        )
    ]


@contextmanager
def kernel() -> Iterator[Ask]:
    """A kernel with the CUDA build of torch and the agent: runs code, then tells an expression's
    value."""
    with CUDA.in_use() as python, tempfile.TemporaryDirectory(prefix="vram-bench-") as folder:
        ledger = Path(folder) / "ledger"
        Ledger.create(ledger, boards.ONE).close()
        os.environ["JUPYTER_PATH"] = folder
        manager = KernelManager(kernel_name=kernelspec.write(Path(folder), python, build(), ledger))
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=60)

        def ask(code: str, expression: str) -> Any:
            reply = client.execute_interactive(
                code,
                silent=True,
                user_expressions={"vram": expression or "None"},
                timeout=300,
            )["content"]
            assert reply["status"] == "ok", reply
            value = reply["user_expressions"]["vram"]
            assert value["status"] == "ok", value
            return ast.literal_eval(value["data"]["text/plain"])

        try:
            ask("", agent.install_expression(time.time() + 60))
            yield ask
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
