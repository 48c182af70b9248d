"""Parking in real kernels, with the simulated GPU's arrays: what moves, and what may come then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from channel_user import GENERATIONS, Notebook
from jupyterlab_vram.kernels.answers import Figures, Installed, ParkCheck, RemedyDone, Scan
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.simulated.ledger import Ledger
from park_user import (
    CONTEXT,
    DATA,
    EXECUTE,
    FULL,
    MIB,
    MOVED,
    SIZES,
    answer,
    done,
    held,
    installed,
    is_parked,
    parked,
)


@GENERATIONS
async def test_there_and_back(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await notebook.run(DATA)
    await channel.install(notebook.kernel_id)
    handlers = "[repr(h) for hs in (k.shell_handlers, k.control_handlers) for h in hs.values()]"
    handlers = f"(lambda k: {handlers})(get_ipython().kernel)"
    before = await notebook.evaluate(handlers), await notebook.state()

    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.ok and checked.refused == []
    assert (checked.bytes, checked.count) == (MOVED, 3)
    assert (checked.stays, checked.stays_bytes, checked.differs) == ([], 0, 0)
    assert checked.host_free and checked.host_left and 0.2 < checked.host_left < 1
    assert held(tmp_path, notebook) > 350 * MIB + CONTEXT

    active = notebook.kernel.last_activity
    moved = await done(notebook, channel, "park")
    assert moved.ok, moved
    assert (moved.moved, moved.count, moved.stays) == (MOVED, 3, [])
    assert moved.before["simulated"].total().live == 300 * MIB + 1024
    assert moved.after["simulated"].total().live == 0
    assert held(tmp_path, notebook) == CONTEXT
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.parked == MOVED

    back = await done(notebook, channel, "restore")
    assert back.ok, back
    assert back.moved == MOVED
    assert notebook.kernel.last_activity == active
    assert not await is_parked(notebook, channel)
    assert await notebook.evaluate(SIZES) == FULL
    assert (await notebook.evaluate(handlers), await notebook.state()) == before


@GENERATIONS
async def test_a_class_of_the_users_is_asked_nothing(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    hostile = """
class Kind(type):
    def __eq__(cls, other): raise RuntimeError
    def __hash__(cls): raise RuntimeError
class Thing(metaclass=Kind): pass
things = [Thing()]
"""
    await parked(notebook, channel, DATA + hostile)
    assert (await done(notebook, channel, "restore")).ok
    assert await notebook.evaluate(SIZES) == FULL


async def test_what_a_thread_has_only_begun_to_make_is_nothing(
    start: Any, channel: KernelChannel
) -> None:
    notebook = await start()
    begun = "begun = [kind.__new__(kind) for kind in (type(x), type(x.storage))]"
    await parked(notebook, channel, DATA + begun)
    assert (await done(notebook, channel, "restore")).moved == MOVED
    scan = await channel.scan(notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan


@GENERATIONS
async def test_what_the_collector_does_not_list_moves_too(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    frozen = "records = [[] for _ in range(10_000)]\nimport gc; gc.freeze()"
    await installed(notebook, channel, DATA + frozen)
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and (checked.refused, checked.differs) == ([], 0)
    assert (await done(notebook, channel, "park")).moved == MOVED
    assert await notebook.evaluate(SIZES) == FULL


@GENERATIONS
async def test_a_cell_finds_everything_back(start: Any, channel: KernelChannel, kind: str) -> None:
    notebook = await start(kind)
    await parked(notebook, channel)
    await notebook.run(f"seen = {SIZES}")
    assert await notebook.evaluate("seen") == FULL
    assert not await is_parked(notebook, channel)


@GENERATIONS
async def test_what_touches_no_data_leaves_it_parked(
    start: Any, channel: KernelChannel, kernels: Any, kind: str
) -> None:
    notebook = await start(kind)
    await parked(notebook, channel)
    complete = await answer(notebook, "complete_request", {"code": "x.sto", "cursor_pos": 4})
    assert complete == {
        "status": "ok",
        "matches": [],
        "metadata": {},
        "cursor_start": 4,
        "cursor_end": 4,
    }
    look = {"code": "x", "cursor_pos": 1, "detail_level": 0}
    inspected = await answer(notebook, "inspect_request", look)
    assert inspected == {"status": "ok", "found": False, "data": {}, "metadata": {}}

    history = {"hist_access_type": "tail", "n": 1, "output": True, "raw": True}
    past = (await answer(notebook, "history_request", history))["history"]
    assert past[0][2][0].strip() == DATA.strip()
    info = await answer(notebook, "kernel_info_request", {})
    assert info["implementation"] == "ipython"
    assert (await answer(notebook, "comm_info_request", {}))["comms"] == {}
    complete = await answer(notebook, "is_complete_request", {"code": "for"})
    assert complete["status"] != "unknown"
    assert (await answer(notebook, "interrupt_request", {}, "control"))["status"] == "ok"
    assert "pid" in await answer(notebook, "usage_request", {}, "control")
    asked = {"type": "request", "seq": 1, "command": "debugInfo", "arguments": {}}
    info = await answer(notebook, "debug_request", asked, "control")
    assert info["success"] and "breakpoints" in info["body"]

    collected = await done(notebook, channel, "collect")
    assert not collected.ok
    assert collected.text == "This notebook's GPU data are parked. Restore them first."
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == ["It is parked already."]
    assert await is_parked(notebook, channel)


@GENERATIONS
async def test_another_server_finds_it_parked(
    start: Any, channel: KernelChannel, kernels: Any, kind: str
) -> None:
    notebook = await start(kind)
    await parked(notebook, channel)
    other = KernelChannel(kernels)
    try:
        assert isinstance(await other.install(notebook.kernel_id), Installed)
        assert await is_parked(notebook, other)
        back = await other.remedy(notebook.kernel_id, "restore")
        assert isinstance(back, RemedyDone) and back.ok
    finally:
        other.close()
    assert await notebook.evaluate(SIZES) == FULL


@GENERATIONS
@pytest.mark.parametrize("road", ["expressions", "control", "comm", "debugger", "unknown"])
async def test_whatever_runs_code_has_the_data_back_first(
    start: Any, channel: KernelChannel, kind: str, road: str
) -> None:
    notebook = await start(kind)
    listens = f"""
seen = None
def look(*_):
    global seen
    seen = {SIZES}
kernel = get_ipython().kernel
kernel.comm_manager.register_target('looks', look)
kernel.shell_handlers['own_message'] = look
class Shown:
    def __repr__(self):
        look()
        return 'shown'
shown = Shown()
"""
    await parked(notebook, channel, DATA + listens)
    if road in ("expressions", "control"):
        reply = await answer(
            notebook, "execute_request", EXECUTE, "shell" if road == "expressions" else "control"
        )
        assert reply["status"] == "ok"
    elif road == "debugger":
        asked = {"type": "request", "seq": 1, "command": "inspectVariables", "arguments": {}}
        await answer(notebook, "debug_request", asked, "control")
        await notebook.run("look()")
    else:
        content = {"comm_id": "a", "target_name": "looks", "data": {}}
        kind = "comm_open" if road == "comm" else "own_message"
        notebook.client.shell_channel.send(notebook.client.session.msg(kind, content))
        await answer(notebook, "kernel_info_request", {})
    assert not await is_parked(notebook, channel)
    assert await notebook.evaluate("seen") == FULL


@GENERATIONS
async def test_what_runs_at_the_kernels_end_has_the_data_back_first(
    start: Any, channel: KernelChannel, kernels: Any, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    saved = tmp_path / "saved"
    at_exit = (
        f"import atexit\natexit.register(lambda: open({str(saved)!r}, 'w').write(str({SIZES})))"
    )
    await parked(notebook, channel, f"{DATA}{at_exit}")
    await kernels.shutdown_kernel(notebook.kernel_id)
    assert saved.read_text() == str(FULL)


async def test_a_subshell_has_the_data_back_first(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await parked(notebook, channel)
    made = await answer(notebook, "create_subshell_request", {}, "control")
    assert await is_parked(notebook, channel)
    message = notebook.client.session.msg("execute_request", EXECUTE)
    message["header"]["subshell_id"] = made["subshell_id"]
    notebook.client.shell_channel.send(message)
    assert (await notebook.reply(message["header"]["msg_id"]))["status"] == "ok"
    assert not await is_parked(notebook, channel)
    assert await notebook.evaluate("seen") == FULL


@GENERATIONS
async def test_without_room_a_cell_is_stopped_and_nothing_is_lost(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await notebook.run("1 + 1")
    # Slow enough for the cell behind it to arrive.
    slow = "free = simulated.mem_get_info; simulated.mem_get_info = lambda d: sleep(0.5) or free(d)"
    await parked(notebook, channel, f"{DATA}from time import sleep; {slow}")
    before = await state_while_parked(notebook)
    with Ledger.open(tmp_path / "ledger") as ledger:
        free = ledger.memory(0).free
        taken = free - 100 * MIB
        ledger.charge(1, 0, taken)
        cell, next_cell = notebook.send("ran = True"), notebook.send("ran = True")
        reply, next_reply = await notebook.reply(cell), await notebook.reply(next_cell)
        assert (reply["status"], reply["ename"]) == ("error", "Parked")
        assert reply["evalue"] == (
            "This notebook is parked: 0.3 GiB of its GPU data is in host RAM, and could not "
            "be brought back: the GPU has 100.0 MiB free, and 0.3 GiB are needed. Nothing is lost "
            "and nothing was run. Free memory on the GPU, then try again."
        )
        assert next_reply["status"] == "aborted"
        shown = await outputs(notebook, cell)
        assert [kind for kind, _ in shown] == ["execute_input", "error"]
        assert shown[1][1] == {
            "ename": "Parked",
            "evalue": reply["evalue"],
            "traceback": [f"Parked: {reply['evalue']}"],
        }
        await notebook.idle()
        assert (await answer(notebook, "execute_request", EXECUTE, "control"))["status"] == "error"
        asked = {"type": "request", "seq": 7, "command": "inspectVariables", "arguments": {}}
        refused = await answer(notebook, "debug_request", asked, "control")
        assert (refused["success"], refused["request_seq"]) == (False, 7)
        assert refused["message"] == reply["evalue"]
        back = await done(notebook, channel, "restore")
        assert not back.ok and back.text == reply["evalue"]
        assert await is_parked(notebook, channel)
        assert held(tmp_path, notebook) == CONTEXT
        assert await state_while_parked(notebook) == before
        ledger.release(1, 0, taken)
    await notebook.run(f"seen = {SIZES}; had_run = 'ran' in globals()")
    assert await notebook.evaluate("(seen, had_run)") == [FULL, False]


async def state_while_parked(notebook: Notebook) -> Any:
    history = {"hist_access_type": "range", "session": 0, "start": 0, "output": False, "raw": True}
    return (await answer(notebook, "history_request", history))["history"]


async def outputs(notebook: Notebook, message_id: str) -> list[Any]:
    """Type and content of what a cell published, but for its states."""
    shown = []
    while True:
        message = await notebook.client.get_iopub_msg(timeout=20)
        if message["parent_header"].get("msg_id") != message_id:
            continue
        if message["msg_type"] != "status":
            shown.append((message["msg_type"], message["content"]))
        elif message["content"]["execution_state"] == "idle":
            return shown
