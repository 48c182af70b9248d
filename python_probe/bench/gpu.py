"""The whole story on one GPU: two notebooks, seen by name, planned, freed, parked, restarted.

``python -m bench.gpu FILE [--simulated]`` writes what came back, expected and measured, to FILE as
JSON. The notebooks' Python is the one that VRAM_GPU_PYTHON names, else this one; it needs PyTorch
for CUDA, or ROCm's, and ipykernel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fake_driver import boards
from fake_driver.build import NoCompiler, build
from jupyterlab_vram.simulated.files import ENVIRONMENT
from jupyterlab_vram.simulated.ledger import Ledger

from .row import Row
from .server import JupyterServer, jupyter_server

GIB, MIB = 1 << 30, 1 << 20
UNIT, SIMULATED_UNIT = GIB, 256 * MIB
"""Bytes of each of the tensors, or an eighth of what is free on a smaller card."""
KERNEL = "gpu"

LEAK = """
import ctypes, gc, hashlib, torch
gc.disable()
def take(): return torch.empty({unit}, dtype=torch.uint8, device="cuda")
def digest(tensor):
    host = tensor.cpu()
    return hashlib.blake2b((ctypes.c_ubyte * host.nbytes).from_address(host.data_ptr())).hexdigest()
kept = torch.randint(0, 256, ({unit},), dtype=torch.uint8).cuda()
view = kept[1:]
torch.cuda.synchronize()
first = digest(kept)
class Ring: pass
ring = Ring()
ring.itself, ring.tensor = ring, take()
del ring
take()
"""
FAIL = """
def fails():
    local = take()
    raise ValueError("a cell that failed")
fails()
"""
CACHE = "cached = take(); del cached"


class Stop(Exception):
    """It can't run here; a sentence that says why and what to do."""


class Story:
    """What happens, step by step; each step adds its row."""

    def __init__(self, server: JupyterServer, unit: int) -> None:
        self._server = server
        self._unit = unit
        self.rows: list[Row] = []

    def problem(self) -> str | None:
        """Why there is nothing to tell, in a sentence or two."""
        snapshot = self._snapshot()
        if snapshot["state"] == "ok":
            return None
        return " ".join(filter(None, [snapshot["problem"]["text"], snapshot["problem"]["hint"]]))

    def card(self) -> str:
        snapshot = self._snapshot()
        return f"{snapshot['gpus'][0]['name']}, driver {snapshot['driver']['version']}"

    def tell(self) -> None:
        keeps = self._notebook("keeps.ipynb")
        needs = self._notebook("needs.ipynb")
        free = self._snapshot()["gpus"][0]["memory"]["free"]
        unit = min(self._unit, free // 8 // (64 * MIB) * 64 * MIB)
        if not unit:
            raise Stop("The GPU has less than half a GiB free. End what uses it, then try again.")
        self._run(keeps, LEAK.format(unit=unit))
        try:
            self._run(keeps, FAIL)
        except RuntimeError as error:
            if "a cell that failed" not in str(error):
                raise
        self._run(keeps, CACHE)
        self._seen(keeps)
        self._freed(keeps, 2 * unit, "collect", "release-cache")
        self._freed(keeps, unit, "unpin-exceptions")
        self._freed(keeps, unit, "unpin-outputs")
        self._parked(keeps, unit)
        self._two_clicks(keeps, needs)

    # --- the steps ------------------------------------------------------------------------

    def _seen(self, kernel: str) -> None:
        reserved = self._run(kernel, "", "torch.cuda.memory_reserved()")
        row = self._row_of(kernel)
        held = row["bytes"] or 0
        self._add(
            "Seen as keeps.ipynb",
            f"{mib(row['bytes'])}, of which {mib(held - reserved)} are the context",
            f"{mib(reserved)} and the context",
            row["notebook"] == "keeps.ipynb" and 0 < held - reserved < 2 * GIB,
        )

    def _freed(self, kernel: str, expected: int, *remedies: str) -> None:
        plan = self._server.ask(f"jupyterlab-vram/kernels/{kernel}/plan")
        promised = [step for step in plan["remedies"] if step["id"] in remedies]
        sure = all(step["gain_is"] == "exact" for step in promised)
        gain = sum(step["gain"] for step in promised)
        report = self._free(kernel, *remedies)
        freed, seconds = report["freed"], sum(step["seconds"] for step in report["steps"])
        self._add(
            " and ".join(remedies),
            f"{mib(freed)} in {seconds:.2f} s",
            f"{mib(expected)}; the plan: {'' if sure else 'at most '}{mib(gain)}",
            # PyTorch may have had a segment for small things, too.
            expected <= freed <= expected + 4 * MIB and (not sure or abs(freed - gain) <= MIB),
        )

    def _parked(self, kernel: str, unit: int) -> None:
        before = self._row_of(kernel)["bytes"]
        parked = self._free(kernel, "park")
        away = self._row_of(kernel)
        restored = self._free(kernel, "restore")
        back = self._run(kernel, "", "(digest(kept) == first, view.data_ptr() - kept.data_ptr())")
        seconds = [report["steps"][0]["seconds"] for report in (parked, restored)]
        self._add(
            "park",
            f"{mib(parked['freed'])}, {rate(unit, seconds[0])}",
            mib(unit),
            abs(parked["freed"] - unit) <= MIB and away["parked"] == unit,
        )
        self._add(
            "restore",
            f"{'bit for bit' if back == (True, 1) else 'differs'}, {rate(unit, seconds[1])}",
            "bit for bit",
            back == (True, 1) and self._row_of(kernel)["bytes"] == before,
        )

    def _two_clicks(self, keeps: str, needs: str) -> None:
        """One notebook fills the card, another one runs out, and a restart of the first helps."""
        fill = """
free = torch.cuda.mem_get_info()[0]
fill = torch.empty(free // 10 * 8, dtype=torch.uint8, device="cuda")
"""
        self._run(keeps, fill)
        cell = """
import torch
total = torch.cuda.mem_get_info()[1]
x = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
"""
        try:
            self._run(needs, cell)
            raise Stop("The second notebook did not run out of memory; another GPU was used.")
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
        held = self._row_of(keeps)["bytes"]
        began = time.monotonic()
        report = self._free(keeps, "restart")
        seconds = time.monotonic() - began
        self._add(
            "restart",
            f"{mib(report['freed'])} in {seconds:.2f} s",
            mib(held),
            abs(report["freed"] - held) <= MIB and not report["survivors"],
        )
        self._run(needs, cell)
        self._add("The other notebook's cell", "runs", "runs", True)

    # --- asking -----------------------------------------------------------------------------

    def _add(self, measure: str, ours: str, against: str, holds: bool) -> None:
        self.rows.append(Row(measure=measure, ours=ours, against=against, holds=holds))
        verdict = "ok  " if holds else "FAIL"
        print(f"  {verdict} {measure}: {ours} (expected {against})", flush=True)  # noqa: T201

    def _notebook(self, path: str) -> str:
        body = {"path": path, "name": path, "type": "notebook", "kernel": {"name": KERNEL}}
        session = self._server.ask("api/sessions", "POST", body)
        kernel_id: str = session["kernel"]["id"]
        self._run(kernel_id, "import torch")
        return kernel_id

    def _run(self, kernel: str, code: str, expression: str = "None") -> Any:
        value = self._server.run(kernel, code, expression)
        # The server hears of a cell's end by another socket than its user.
        while self._server.ask(f"api/kernels/{kernel}")["execution_state"] != "idle":
            time.sleep(0.02)
        return value

    def _snapshot(self) -> Any:
        began = time.time()
        while True:
            snapshot = self._server.ask("jupyterlab-vram/snapshot")
            if snapshot["taken_at"] >= began:
                return snapshot
            time.sleep(0.1)

    def _row_of(self, kernel: str) -> Any:
        return next(row for row in self._snapshot()["kernels"] if row["id"] == kernel)

    def _free(self, kernel: str, *remedies: str) -> Any:
        path = f"jupyterlab-vram/kernels/{kernel}/remedies"
        report = self._server.ask(path, "POST", {"remedies": [{"id": id_} for id_ in remedies]})
        for step in report["steps"]:
            if not step["ok"] or step["freed"] is None:
                raise Stop(f"{step['id']} failed: {step['text']}")
        return report


def mib(nbytes: int | None) -> str:
    return "\N{EM DASH}" if nbytes is None else f"{nbytes / MIB:.0f} MiB"


def rate(nbytes: int, seconds: float) -> str:
    return f"{nbytes / GIB / seconds:.1f} GiB/s"


def notebooks_python(named: str | None) -> tuple[str, str]:
    """The notebooks' Python, and its PyTorch's version. Raises Stop."""
    python = named or sys.executable
    code = "import ipykernel, torch; print(torch.__version__, torch.backends.cuda.is_built())"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError as error:
        raise Stop(f"VRAM_GPU_PYTHON: {python} can't be run ({error.strerror}).") from None
    version, _, built = done.stdout.strip().partition(" ")
    if done.returncode or built != "True":
        raise Stop(
            f"{python} has no PyTorch for the GPU, or no ipykernel. Name a Python that has both "
            "in VRAM_GPU_PYTHON."
        )
    return python, version


@contextmanager
def drivers(simulated: bool) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Variables of the server and of its kernels."""
    if not simulated:
        yield {}, {}
        return
    with tempfile.TemporaryDirectory(prefix="vram-gpu-") as folder:
        ledger = Path(folder) / "ledger"
        Ledger.create(ledger, boards.ONE).close()
        driver = build()
        yield driver.environment(ledger), driver.environment(ledger, preload=True)


def main(file: Path, simulated: bool) -> int:
    simulated = simulated or ENVIRONMENT in os.environ
    python, version = notebooks_python(os.environ.get("VRAM_GPU_PYTHON"))
    with (
        drivers(simulated) as (of_server, of_kernels),
        tempfile.TemporaryDirectory(prefix="vram-gpu-") as data,
    ):
        folder = Path(data) / "kernels" / KERNEL
        folder.mkdir(parents=True)
        spec = {
            "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "GPU",
            "language": "python",
            "env": of_kernels,
        }
        (folder / "kernel.json").write_text(json.dumps(spec))
        with jupyter_server({**os.environ, **of_server, "JUPYTER_PATH": data}) as server:
            story = Story(server, SIMULATED_UNIT if simulated else UNIT)
            problem = story.problem()
            if problem is None:
                card = story.card()
                story.tell()
    if problem is not None:
        raise Stop(problem)
    result = {
        "simulated": simulated,
        "card": f"{card}, PyTorch {version}",
        "rows": [asdict(row) for row in story.rows],
    }
    file.write_text(json.dumps(result))
    return 0 if all(row.holds for row in story.rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), "--simulated" in sys.argv[2:]))
    except (Stop, NoCompiler) as error:
        sys.exit(str(error))
