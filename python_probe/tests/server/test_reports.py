"""What clients are told of runs: those that watch, and those that come later."""

import asyncio
import json

import pytest
from hearing import heard
from jupyterlab_vram import __version__, wire
from jupyterlab_vram.server import reports
from jupyterlab_vram.server.reports import Reports


@pytest.fixture
def connect(app, jp_ws_fetch):
    async def connect():
        return await jp_ws_fetch("jupyterlab-vram", "stream")

    return connect


@pytest.fixture
def kernel(jp_serverapp, app):
    """A kernel, and a client that runs cells in it."""
    clients = []

    async def start(code="from jupyterlab_vram import simulated\nx = simulated.empty(1 << 30)"):
        kernel_id = await jp_serverapp.kernel_manager.start_kernel()
        kernel = jp_serverapp.kernel_manager.get_kernel(kernel_id)
        client = kernel.client()
        client.start_channels()
        clients.append(client)
        await heard(kernel, client)
        await client.execute(code, reply=True, timeout=30)
        await state(jp_serverapp, kernel_id, "idle")
        return kernel_id, client

    yield start
    for client in clients:
        client.stop_channels()


async def state(jp_serverapp, kernel_id, wanted):
    while jp_serverapp.kernel_manager.get_kernel(kernel_id).execution_state != wanted:
        await asyncio.sleep(0.01)


async def told(websocket, **fields):
    """The next report with these fields."""
    while True:
        message = json.loads(await asyncio.wait_for(websocket.read_message(), 30))
        if message["type"] == "report" and fields.items() <= message.items():
            return message


async def first(websocket):
    return json.loads(await asyncio.wait_for(websocket.read_message(), 30))


async def test_who_comes_later_learns_what_was_done(ask, kernel, connect):
    one, _ = await kernel()
    body = {"remedies": [{"id": "collect"}]}
    await ask(f"kernels/{one}/remedies", method="POST", body=body)
    _, second = await ask(f"kernels/{one}/remedies", method="POST", body=body)
    watching = await connect()
    assert (await first(watching))["type"] == "snapshot"
    assert await told(watching) == second
    late = await connect()
    assert (await first(late))["type"] == "snapshot"
    assert await told(late) == second


async def test_a_run_that_waits_is_seen_by_all_and_stopped_by_anyone(
    ask, kernel, connect, jp_serverapp
):
    kernel_id, client = await kernel()
    watching = await connect()
    client.execute("import time; time.sleep(60)")
    await state(jp_serverapp, kernel_id, "busy")
    body = {"remedies": [{"id": "collect"}], "when": "idle"}
    run = asyncio.ensure_future(ask(f"kernels/{kernel_id}/remedies", method="POST", body=body))
    waiting = await told(watching, waiting=True, finished=False)
    late = await connect()
    assert await told(late) == waiting
    _, plan = await ask(f"kernels/{kernel_id}/plan")
    assert plan["state"] == "busy"
    assert "also if you close the browser" in plan["text"]

    code, stopped = await ask(f"kernels/{kernel_id}/remedies", method="DELETE")
    assert (code, stopped["finished"], stopped["waiting"]) == (200, True, False)
    assert stopped["steps"][0]["text"] == "Not run. You stopped it."
    for websocket in (watching, late):
        assert (await told(websocket, finished=True))["run_id"] == waiting["run_id"]
    code, report = await asyncio.wait_for(run, 20)
    assert (code, report["run_id"]) == (200, waiting["run_id"])
    assert (await ask(f"kernels/{kernel_id}/remedies", method="DELETE"))[0] == 404


async def test_a_restart_by_a_page_is_told_to_all(ask, kernel, connect, jp_serverapp):
    kernel_id, _ = await kernel()
    watching, page = await connect(), await connect()
    step = {"id": "restart", "by_page": "this one"}
    run = asyncio.ensure_future(
        ask(f"kernels/{kernel_id}/remedies", method="POST", body={"remedies": [step]})
    )
    while (await told(page, finished=False))["steps"][0]["by_page"] != "this one":
        pass
    await jp_serverapp.kernel_manager.restart_kernel(kernel_id)
    code, report = await run
    assert (code, report["freed"]) == (200, (4 << 30) + (300 << 20))
    late = await connect()
    for websocket in (watching, page, late):
        assert await told(websocket, finished=True) == report


async def test_the_last_step_is_not_stopped(ask, kernel, connect):
    slow = (
        "class Slow:\n"
        "    def __init__(self): self.itself = self\n"
        "    def __del__(self): __import__('time').sleep(4)\n"
        "Slow(); None"
    )
    kernel_id, _ = await kernel(slow)
    watching = await connect()
    body = {"remedies": [{"id": "collect"}]}
    run = asyncio.ensure_future(ask(f"kernels/{kernel_id}/remedies", method="POST", body=body))
    assert (await told(watching))["steps"][0]["text"] == "Working…"
    code, answer = await ask(f"kernels/{kernel_id}/remedies", method="DELETE")
    assert code == 409
    assert "can't be stopped half-way" in answer["message"]
    assert (await run)[1]["steps"][0]["ok"]
    code, answer = await ask(f"kernels/{kernel_id}/remedies", method="DELETE")
    assert code == 404
    assert answer["message"].startswith("Nothing is being freed")


async def test_a_stopping_server_answers_who_waits(ask, kernel, app, jp_serverapp):
    kernel_id, client = await kernel()
    client.execute("import time; time.sleep(60)")
    await state(jp_serverapp, kernel_id, "busy")
    body = {"remedies": [{"id": "collect"}], "when": "idle"}
    run = asyncio.ensure_future(ask(f"kernels/{kernel_id}/remedies", method="POST", body=body))
    while kernel_id not in app.service.remedies._waiting:
        await asyncio.sleep(0.01)
    await app.stop_extension()
    code, report = await asyncio.wait_for(run, 20)
    assert (code, report["finished"]) == (200, True)
    assert report["steps"][0]["text"] == "Not run. The server was stopped."


def report(kernel_id, run_id, *, finished=True):
    return wire.Report(
        version=__version__, kernel_id=kernel_id, run_id=run_id, finished=finished, at=1.0
    )


def put(kept, *args, **kwargs):
    made = report(*args, **kwargs)
    kept.put(made, f"{made.run_id} {made.finished}".encode())


def test_of_each_kernel_the_last_and_what_goes_on(monkeypatch):
    monkeypatch.setattr(reports, "MOST", 2)
    kept = Reports()
    put(kept, "a", "1", finished=False)
    put(kept, "a", "1")
    put(kept, "a", "2")
    put(kept, "b", "3", finished=False)
    assert dict(kept.latest()) == {"2": b"2 True", "3": b"3 False"}
    put(kept, "c", "4")
    put(kept, "a", "5")
    put(kept, "d", "6")
    assert dict(kept.latest()) == {"5": b"5 True", "6": b"6 True", "3": b"3 False"}
    put(kept, "b", "3")
    assert dict(kept.latest()) == {"6": b"6 True", "3": b"3 True"}
