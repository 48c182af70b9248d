"""Measures a Jupyter server from inside; ``bench`` loads it beside the real extension."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

STEP = 0.001


class Delays(APIHandler):
    """``GET bench/delays?seconds=``: how late the event loop was, looking every millisecond.

    Without the time that its thread was ready to run and other programs had the CPU.
    """

    @authenticated
    async def get(self) -> None:
        end = time.perf_counter() + float(self.get_query_argument("seconds"))
        delays = []
        now, denied = time.perf_counter(), cpu_denied()
        while now < end:
            due, denied_before = now + STEP, denied
            await asyncio.sleep(STEP)
            now, denied = time.perf_counter(), cpu_denied()
            delays.append(max(now - due - (denied - denied_before), 0.0))
        self.finish({"delays": delays})


def cpu_denied() -> float:
    """Seconds that this thread has waited for a CPU. Time in calls that block is not among them."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class Samples(APIHandler):
    """``GET bench/samples?count=&pause=``: take so many samples, with pauses of so many seconds."""

    @authenticated
    async def get(self) -> None:
        assert self.serverapp is not None
        (app,) = self.serverapp.extension_manager.extension_apps["jupyterlab_vram"]
        pause = float(self.get_query_argument("pause"))
        for _ in range(int(self.get_query_argument("count"))):
            sample = await app.service.sampler.read()
            await asyncio.sleep(pause)
        self.finish({"state": sample.snapshot.state, "bytes": len(sample.body)})


class Blocks(APIHandler):
    """``GET bench/blocks``: how many blocks of memory Python's objects take."""

    @authenticated
    def get(self) -> None:
        gc.collect()
        self.finish({"blocks": sys.getallocatedblocks()})


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "bench.extension"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    base = f"{serverapp.base_url}bench/"
    serverapp.web_app.add_handlers(
        ".*$",
        [(f"{base}delays", Delays), (f"{base}samples", Samples), (f"{base}blocks", Blocks)],
    )
