"""Measures a Jupyter server from inside; ``bench`` loads it beside the real extension."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

STEP = 0.001


class Delays(APIHandler):
    """``GET bench/delays?seconds=``: how late the event loop was, looking every millisecond."""

    @authenticated
    async def get(self) -> None:
        end = time.perf_counter() + float(self.get_query_argument("seconds"))
        delays = []
        now = time.perf_counter()
        while now < end:
            due = now + STEP
            await asyncio.sleep(STEP)
            now = time.perf_counter()
            delays.append(now - due)
        self.finish({"delays": delays})


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


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "bench.extension"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    base = serverapp.base_url
    serverapp.web_app.add_handlers(
        ".*$", [(f"{base}bench/delays", Delays), (f"{base}bench/samples", Samples)]
    )
