import asyncio
import json
import socket
import tracemalloc

import pytest
from jupyterlab_vram import __version__, wire
from jupyterlab_vram.server import stream
from tornado.httpclient import HTTPClientError


@pytest.fixture
def connect(app, jp_ws_fetch):
    async def connect():
        return await jp_ws_fetch("jupyterlab-vram", "stream")

    return connect


async def receive(websocket, kind, limit=5.0):
    """The next message of a kind."""
    while True:
        text = await asyncio.wait_for(websocket.read_message(), limit)
        assert text is not None, "The server closed the connection."
        message = json.loads(text)
        assert message["version"] == __version__
        assert message["schema"] == wire.SCHEMA
        if message["type"] == kind:
            return message


async def test_a_snapshot_comes_first_and_then_one_each_interval(connect):
    websocket = await connect()
    first = await receive(websocket, "snapshot", limit=1.0)
    assert first["source"] == "simulated"
    assert first["state"] == "ok"
    second = await receive(websocket, "snapshot")
    assert 0.8 <= second["taken_at"] - first["taken_at"] <= 1.3
    late = await connect()
    assert (await receive(late, "snapshot", limit=0.5))["taken_at"] == second["taken_at"]


async def test_readings_end_with_the_last_client(connect, service):
    one, two = await connect(), await connect()
    await receive(one, "snapshot")
    one.close()
    await receive(two, "snapshot")
    two.close()
    await asyncio.sleep(0.2)
    assert len(service.hub) == 0
    calls = service.sampler.driver.calls
    await asyncio.sleep(1.5)
    assert service.sampler.driver.calls == calls


async def test_thirty_clients_cost_the_driver_no_more_than_one(connect, service):
    clients = [await connect() for _ in range(30)]
    await asyncio.gather(*(receive(client, "snapshot") for client in clients))
    before = service.sampler.driver.calls
    for _ in range(2):
        await asyncio.gather(*(receive(client, "snapshot") for client in clients))
    assert service.sampler.driver.calls - before == 2


async def test_all_clients_are_told_of_settings(connect, ask):
    one, two = await connect(), await connect()
    code, config = await ask("config", method="PUT", body={"interval": 0.5})
    assert code == 200
    for client in (one, two):
        assert (await receive(client, "config"))["config"] == config
    first = await receive(one, "snapshot")
    second = await receive(one, "snapshot")
    third = await receive(one, "snapshot")
    assert third["taken_at"] - second["taken_at"] == pytest.approx(0.5, abs=0.2)
    assert first["taken_at"] < second["taken_at"]


async def test_what_a_client_says_is_not_read(connect):
    websocket = await connect()
    for text in ("", "{", "x" * 100_000, b"\xff\xfe"):
        await websocket.write_message(text, binary=isinstance(text, bytes))
    assert await receive(websocket, "snapshot")


async def test_another_origin_gets_no_stream(app, jp_ws_fetch, browser):
    """A browser sends its cookie along with whatever page opened the socket."""
    headers = await browser()
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch(
            "jupyterlab-vram", "stream", headers={**headers, "Origin": "https://elsewhere.example"}
        )
    assert refused.value.code == 403
    websocket = await jp_ws_fetch("jupyterlab-vram", "stream", headers=headers)
    assert await receive(websocket, "snapshot")


def large_snapshot(n):
    holders = [
        wire.Holder(gpu="GPU-1", pid=pid, name="python " + "x" * 200) for pid in range(1, 1000)
    ]
    return wire.encode(
        wire.Snapshot(
            version=__version__, taken_at=n, source="simulated", state="ok", holders=holders
        )
    )


@pytest.fixture
def slow_reader(app, http_server):
    """A client that shakes hands and then reads nothing."""

    async def slow_reader():
        raw = await asyncio.wait_for(shake_hands(app), 5)
        while not len(app.service.hub):
            await asyncio.sleep(0.01)
        return raw

    return slow_reader


async def shake_hands(app):
    server = app.serverapp
    loop = asyncio.get_running_loop()
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await loop.sock_connect(raw, ("localhost", server.port))
    request = (
        f"GET {server.base_url}jupyterlab-vram/stream HTTP/1.1\r\n"
        f"Host: localhost:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Authorization: token {server.identity_provider.token}\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    await loop.sock_sendall(raw, request.encode())
    assert (await loop.sock_recv(raw, 12)).endswith(b"101")
    return raw


async def test_a_slow_reader_never_grows_memory(slow_reader, service):
    raw = await slow_reader()
    body = large_snapshot(0)

    async def publish(count):
        for n in range(count):
            service.hub.snapshot(large_snapshot(n))
            await asyncio.sleep(0)

    await publish(50)  # fills what the operating system buffers
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await publish(300)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    (client,) = service.hub._clients
    assert len(client.ws_connection.stream._write_buffer) <= 2 * len(body)
    assert grown < 3 * len(body) < 300 * len(body) / 50
    raw.close()


async def test_who_takes_nothing_is_hung_up_on(slow_reader, service, monkeypatch):
    monkeypatch.setattr(stream, "STALL_LIMIT", 0.2)
    raw = await slow_reader()
    for n in range(100):
        service.hub.snapshot(large_snapshot(n))
        await asyncio.sleep(0)
    await asyncio.sleep(0.5)
    assert len(service.hub) == 0
    raw.close()


async def test_a_stopping_server_says_goodbye(connect, app):
    websocket = await connect()
    await receive(websocket, "snapshot")
    await app.stop_extension()
    while (message := await asyncio.wait_for(websocket.read_message(), 5)) is not None:
        assert message
    assert websocket.close_code == 1001
    with pytest.raises(AssertionError):
        await receive(await connect(), "snapshot")
