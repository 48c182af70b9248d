"""A real Jupyter server as a child process, with real kernels."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking import BlockingKernelClient
from jupyterlab_vram.simulated.ledger import Ledger

from .machine import GPUS

START_LIMIT = 90.0


class JupyterServer:
    def __init__(self, process: subprocess.Popen[bytes], port: int, token: str, folder: Path):
        self.pid = process.pid
        self.address = f"127.0.0.1:{port}"
        self.token = token
        self._process = process
        self._runtime = folder / "runtime"
        self._clock = ctypes.c_int()
        failed = ctypes.CDLL(None).clock_getcpuclockid(self.pid, ctypes.byref(self._clock))
        if failed:
            raise OSError(failed, os.strerror(failed))

    def cpu(self) -> float:
        """Seconds of CPU that all its threads have used."""
        return time.clock_gettime(self._clock.value)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """A route's answer, decoded. Raises urllib.error.HTTPError."""
        request = urllib.request.Request(
            f"http://{self.address}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            content = answer.read()
        return json.loads(content) if content else None

    def configure(self, **changes: Any) -> None:
        config = self.ask("jupyterlab-vram/config")
        self.ask("jupyterlab-vram/config", "PUT", {**config, **changes})

    def start_kernels(self, count: int) -> list[str]:
        """So many ipykernels, ready and idle; their ids."""
        with ThreadPoolExecutor(4) as pool:
            ids = [
                answer["id"]
                for answer in pool.map(
                    lambda _: self.ask("api/kernels", "POST", {"name": "python3"}), range(count)
                )
            ]
            list(pool.map(lambda kernel_id: self.run(kernel_id, "pass"), ids))
        return ids

    def run(self, kernel_id: str, code: str, expression: str = "None") -> Any:
        """Run a cell to its end; the value of an expression after it. Raises RuntimeError if it
        fails."""
        client = BlockingKernelClient()
        client.load_connection_file(str(self._runtime / f"kernel-{kernel_id}.json"))
        client.start_channels(stdin=False, hb=False)
        try:
            client.wait_for_ready(timeout=START_LIMIT)
            content = client.execute(
                code, reply=True, timeout=START_LIMIT, user_expressions={"value": expression}
            )["content"]
        finally:
            client.stop_channels()
        if content["status"] != "ok":
            raise RuntimeError("\n".join(content.get("traceback", [content["status"]])))
        return ast.literal_eval(content["user_expressions"]["value"]["data"]["text/plain"])

    def hold(self, ledger: Ledger, kernels: Sequence[str], first_gpu: int = 0) -> None:
        """Let each of these kernels hold memory, on one GPU after the other.

        They have the driver's library loaded; what they hold is arranged, see `machine`.
        """
        known = {kernel["id"]: kernel for kernel in self.ask("jupyterlab-vram/snapshot")["kernels"]}
        for gpu, kernel_id in enumerate(kernels, start=first_gpu):
            self.run(kernel_id, "import ctypes; ctypes.CDLL('libcuda.so.1')")
            (pid,) = known[kernel_id]["pids"]
            ledger.add_process(pid, gpu % GPUS, "1 GiB", name="python")

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while True:
            try:
                self.ask("api/status")
                return
            except (urllib.error.URLError, ConnectionError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


@contextmanager
def jupyter_server(environment: dict[str, str]) -> Iterator[JupyterServer]:
    """A server with this extension and the measuring one, with folders of its own."""
    token = secrets.token_hex()
    with tempfile.TemporaryDirectory(prefix="vram-bench-") as name:
        folder = Path(name)
        for part in ("config", "data", "runtime", "ipython", "work"):
            (folder / part).mkdir()
        port = free_port()
        config = {
            "ServerApp": {
                "ip": "127.0.0.1",
                "port": port,
                "port_retries": 0,
                "open_browser": False,
                "allow_root": True,
                "root_dir": str(folder / "work"),
                "jpserver_extensions": {"jupyterlab_vram": True, "bench.extension": True},
            },
            "IdentityProvider": {"token": token},
        }
        (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(config))
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "jupyter_server"],
                env={
                    **environment,
                    "JUPYTER_CONFIG_DIR": str(folder / "config"),
                    "JUPYTER_DATA_DIR": str(folder / "data"),
                    "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
                    "IPYTHONDIR": str(folder / "ipython"),
                },
                stdout=output,
                stderr=output,
            )
        try:
            server = JupyterServer(process, port, token, folder)
            server.wait_until_up()
            yield server
        except BaseException:
            sys.stderr.write(log.read_text(errors="replace")[-4000:])
            raise
        finally:
            # Asked to end, it ends its kernels too.
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
