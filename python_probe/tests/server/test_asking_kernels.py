"""When the server puts its question into kernels by itself, and when it doesn't."""

import asyncio
import time

import pytest
from jupyterlab_vram.kernels import asking

GIB = 1 << 30
TAKE = "from jupyterlab_vram import simulated; kept = simulated.empty(2 << 30, 'uint8')"


@pytest.fixture
def hidden_kernel(jp_serverapp, app, ledger, monkeypatch):
    """Starts a kernel that holds memory where the driver names no process."""
    monkeypatch.setattr(asking, "EVERY", 0.2)
    monkeypatch.setattr(asking, "QUIET", 0.2)
    clients = []

    async def start():
        manager = jp_serverapp.kernel_manager
        kernel_id = await manager.start_kernel()
        client = manager.get_kernel(kernel_id).client()
        client.start_channels()
        clients.append(client)
        await client.wait_for_ready(timeout=30)
        reply = await client.execute(TAKE, reply=True, timeout=30)
        assert reply["content"]["status"] == "ok", reply["content"]
        ledger.set_device(0, hide_processes=1)
        return kernel_id

    yield start
    for client in clients:
        client.stop_channels()


async def told(ask, seconds=3.0):
    """The kernel's own row, if it comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _, snapshot = await ask("snapshot")
        if snapshot["holders"]:
            return snapshot["holders"][0]["bytes_from"], snapshot["holders"][0]["bytes"] // GIB
        await asyncio.sleep(0.2)
    return None


async def test_only_while_somebody_looks(hidden_kernel, ask, jp_ws_fetch):
    await hidden_kernel()
    assert await told(ask) is None
    websocket = await jp_ws_fetch("jupyterlab-vram", "stream")
    assert await told(ask, 60) == ("kernel", 2)
    websocket.close()


async def test_not_where_the_setting_is_off(hidden_kernel, ask, jp_ws_fetch):
    code, config = await ask("config")
    assert config["ask_kernels"] is True
    code, _ = await ask("config", method="PUT", body={**config, "ask_kernels": False})
    assert code == 200
    await hidden_kernel()
    websocket = await jp_ws_fetch("jupyterlab-vram", "stream")
    assert await told(ask) is None
    await ask("config", method="PUT", body={**config, "ask_kernels": True})
    assert await told(ask, 60) == ("kernel", 2)
    websocket.close()


class TestNoCode:
    @pytest.fixture
    def traits(self):
        return {"allow_code_in_kernels": False}

    async def test_not_where_the_operator_forbids_code(self, hidden_kernel, ask, jp_ws_fetch):
        await hidden_kernel()
        websocket = await jp_ws_fetch("jupyterlab-vram", "stream")
        assert await told(ask) is None
        websocket.close()
