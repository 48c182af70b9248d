"""The whole way on real kernels: seen by name, planned, freed, measured."""

import asyncio
import json
import os
import time

import psutil
import pytest
from hearing import heard
from jupyterlab_vram.server import sampler
from jupyterlab_vram.simulated.files import ENVIRONMENT

GIB = 1 << 30
TAKE = """
from jupyterlab_vram import simulated
kept = simulated.empty((2, 1024, 1024, 256))
dropped = simulated.empty((4, 1024, 1024, 256))
del dropped
"""


@pytest.fixture
def kernel(jp_serverapp, app):
    """Start a kernel with a notebook, and run code in it."""
    clients = []

    async def start(path="train.ipynb", code=TAKE):
        session = await jp_serverapp.session_manager.create_session(
            path=path, name=path, type="notebook", kernel_name="python3"
        )
        kernel_id = session["kernel"]["id"]
        kernel = jp_serverapp.kernel_manager.get_kernel(kernel_id)
        client = kernel.client()
        client.start_channels()
        clients.append(client)
        await heard(kernel, client)
        reply = await client.execute(code, reply=True, timeout=30)
        assert reply["content"]["status"] == "ok", reply["content"]
        # The server hears of the end of the cell by another socket than the reply.
        while kernel.execution_state != "idle":
            await asyncio.sleep(0.01)
        return kernel_id

    yield start
    for client in clients:
        client.stop_channels()


async def fresh(ask):
    """A snapshot that was read after this call; the route may share one that is a little older."""
    began = time.time()
    while True:
        code, snapshot = await ask("snapshot")
        assert code == 200
        if snapshot["taken_at"] >= began:
            return snapshot
        await asyncio.sleep(0.05)


async def seen(ask, kernel_id):
    snapshot = await fresh(ask)
    return next(each for each in snapshot["kernels"] if each["id"] == kernel_id)


async def test_a_kernel_is_seen_by_its_notebooks_name(ask, kernel, jp_serverapp):
    kernel_id = await kernel()
    row = await seen(ask, kernel_id)
    assert row["notebook"] == "train.ipynb"
    assert row["bytes"] > 6 * GIB
    (session,) = row["sessions"]
    await jp_serverapp.session_manager.update_session(session["id"], path="renamed.ipynb")
    assert (await seen(ask, kernel_id))["notebook"] == "renamed.ipynb"


async def test_what_a_plan_promises_a_run_gives_back(ask, kernel, jp_ws_fetch):
    kernel_id = await kernel()
    websocket = await jp_ws_fetch("jupyterlab-vram", "stream")
    code, plan = await ask(f"kernels/{kernel_id}/plan")
    assert (code, plan["state"]) == (200, "idle")
    ticked = [step["id"] for step in plan["remedies"] if step["default"]]
    assert ticked == ["collect", "release-cache"]

    body = {"remedies": [{"id": remedy} for remedy in ticked]}
    code, report = await ask(f"kernels/{kernel_id}/remedies", method="POST", body=body)
    assert code == 200
    assert report["freed"] == 4 * GIB, report
    assert [step["ok"] for step in report["steps"]] == [True, True]
    assert (await seen(ask, kernel_id))["bytes"] == plan["bytes"] - 4 * GIB

    told = []
    while not told or not told[-1]["finished"]:
        message = json.loads(await asyncio.wait_for(websocket.read_message(), 5))
        if message["type"] == "report":
            told.append(message)
    assert {each["run_id"] for each in told} == {report["run_id"]}
    assert told[-1] == report


async def test_what_was_deleted_is_told_beside_what_was_refused(ask, kernel):
    kernel_id = await kernel()
    body = {"remedies": [{"id": "delete", "names": ["kept", "gone", "In"]}]}
    code, report = await ask(f"kernels/{kernel_id}/remedies", method="POST", body=body)
    assert code == 200
    (step,) = report["steps"]
    assert (step["ok"], step["freed"]) == (False, 6 * GIB)
    assert step["text"] == (
        "Deleted kept. Not there any more: gone. Not deleted, for Python or IPython needs it: In."
    )


async def test_a_restart_returns_everything(ask, kernel, jp_serverapp):
    kernel_id = await kernel()
    held = (await seen(ask, kernel_id))["bytes"]
    body = {"remedies": [{"id": "restart"}]}
    code, report = await ask(f"kernels/{kernel_id}/remedies", method="POST", body=body)
    assert (code, report["freed"], report["survivors"]) == (200, held, [])
    assert await jp_serverapp.kernel_manager.is_alive(kernel_id)
    assert (await seen(ask, kernel_id))["bytes"] == 0


async def test_a_shutdown_leaves_nothing(ask, kernel, jp_serverapp):
    kernel_id = await kernel()
    body = {"remedies": [{"id": "shutdown"}]}
    code, report = await ask(f"kernels/{kernel_id}/remedies", method="POST", body=body)
    assert (code, report["survivors"]) == (200, [])
    assert report["freed"] > 6 * GIB
    assert kernel_id not in jp_serverapp.kernel_manager
    assert (await ask(f"kernels/{kernel_id}/plan"))[0] == 404


async def test_one_run_a_kernel_at_a_time(ask, kernel):
    kernel_id = await kernel()
    body = {"remedies": [{"id": "collect"}]}
    answers = await asyncio.gather(
        *(ask(f"kernels/{kernel_id}/remedies", method="POST", body=body) for _ in range(3))
    )
    assert sorted(code for code, _ in answers) == [200, 409, 409], answers


async def test_history_shows_what_a_kernel_held(ask, kernel):
    kernel_id = await kernel()
    row = await seen(ask, kernel_id)
    code, history = await ask("history", params={"kernel": kernel_id, "span": "60"})
    assert (code, history["step"]) == (200, 1)
    (series,) = history["kernels"][kernel_id].values()
    assert row["bytes"] in series
    assert series[0] is None


async def test_a_kernel_on_the_gpu_is_recorded_while_nobody_looks(kernel, service, monkeypatch):
    monkeypatch.setattr(sampler, "BACKGROUND", 0.2)
    service.sampler.hurry()
    await kernel(path="cpu.ipynb", code="import math")
    await asyncio.sleep(1)
    assert service.sampler.driver.calls == 0
    kernel_id = await kernel()
    await asyncio.sleep(1)
    assert 2 <= service.sampler.driver.calls <= 8
    assert service.history.knows_kernel(kernel_id)


LEFTOVER = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", '''
import time
from jupyterlab_vram import simulated
kept = simulated.empty((1, 1024, 1024, 256))
print("holds", flush=True)
time.sleep(60)
'''],
    stdout=subprocess.PIPE, start_new_session=True,
)
assert child.stdout.readline() == b"holds\\n"
"""


async def test_a_leftover_can_be_ended_but_no_other_process(ask, kernel):
    kernel_id = await kernel(code=LEFTOVER)
    body = {"remedies": [{"id": "restart"}]}
    code, report = await ask(f"kernels/{kernel_id}/remedies", method="POST", body=body)
    assert code == 200
    (survivor,) = report["survivors"]
    snapshot = await fresh(ask)
    (holder,) = snapshot["holders"]
    assert (holder["pid"], holder["kind"]) == (survivor["pid"], "leftover")

    end = {"pid": holder["pid"], "started_at": holder["started_at"] - 100}
    assert (await ask("holders", "end", method="POST", body=end))[0] == 403
    me = {"pid": os.getpid(), "started_at": psutil.Process().create_time()}
    assert (await ask("holders", "end", method="POST", body=me))[0] == 403
    assert psutil.pid_exists(holder["pid"])

    end["started_at"] = holder["started_at"]
    code, ended = await ask("holders", "end", method="POST", body=end)
    assert (code, ended["ended"]) == (200, True)
    assert (await fresh(ask))["holders"] == []


class TestReadOnly:
    @pytest.fixture
    def traits(self):
        return {"read_only": True}

    async def test_everything_is_seen_and_nothing_changed(self, ask, kernel, service):
        kernel_id = await kernel()
        held = (await seen(ask, kernel_id))["bytes"]
        code, plan = await ask(f"kernels/{kernel_id}/plan")
        assert code == 200
        assert not any(step["offered"] for step in plan["remedies"])
        for path, body in (
            (f"kernels/{kernel_id}/remedies", {"remedies": [{"id": "restart"}]}),
            ("holders/end", {"pid": os.getpid(), "started_at": 1.0}),
        ):
            code, answer = await ask(path, method="POST", body=body)
            assert (code, bool(answer["message"])) == (403, True)
        assert (await ask("config", method="PUT", body={"interval": 9}))[0] == 403
        assert (await seen(ask, kernel_id))["bytes"] == held


class TestNoCode:
    @pytest.fixture
    def traits(self):
        return {"allow_code_in_kernels": False, "allow_end_processes": False}

    async def test_only_restart_and_shut_down_are_left(self, ask, kernel):
        kernel_id = await kernel()
        _, plan = await ask(f"kernels/{kernel_id}/plan")
        offered = {step["id"] for step in plan["remedies"] if step["offered"]}
        assert {"restart", "shutdown"} <= offered <= {"restart", "shutdown", "interrupt"}
        path = f"kernels/{kernel_id}/remedies"
        code, _ = await ask(path, method="POST", body={"remedies": [{"id": "collect"}]})
        assert code == 403
        me = {"pid": os.getpid(), "started_at": psutil.Process().create_time()}
        code, answer = await ask("holders", "end", method="POST", body=me)
        assert code == 403
        assert "operator" in answer["message"]


class TestSimulationOnAndOff:
    @pytest.fixture
    def traits(self):
        return {"source": "auto"}

    @pytest.fixture
    def no_ledger(self, ledger, monkeypatch):
        monkeypatch.delenv(ENVIRONMENT)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(ledger.path.parent))

    async def test_it_acts_at_once_and_for_kernels_started_later(
        self, no_ledger, ask, kernel, jp_ws_fetch
    ):
        websocket = await jp_ws_fetch("jupyterlab-vram", "stream")

        async def until(source):
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                message = json.loads(await asyncio.wait_for(websocket.read_message(), 10))
                if message["type"] == "snapshot" and (message["source"] == "simulated") == (
                    source == "simulated"
                ):
                    return message
            raise AssertionError(f"The source never became {source}.")

        await until("auto")
        assert (await ask("config", method="PUT", body={"source": "simulated"}))[0] == 200
        assert (await until("simulated"))["state"] == "ok"
        assert ENVIRONMENT in os.environ
        kernel_id = await kernel()
        assert (await seen(ask, kernel_id))["bytes"] > 6 * GIB

        assert (await ask("config", method="PUT", body={"source": "auto"}))[0] == 200
        assert (await until("auto"))["kernels"][0]["id"] == kernel_id
        assert ENVIRONMENT not in os.environ

    async def test_not_where_the_operator_forbids_it(self, ask, service):
        service.config._allow_simulation = False
        code, answer = await ask("config", method="PUT", body={"source": "simulated"})
        assert code == 403
        assert "operator" in answer["message"]

    async def test_a_ledger_that_cannot_be_used_is_a_sentence(
        self, ask, monkeypatch, tmp_path, service
    ):
        broken = tmp_path / "broken"
        broken.write_text("no ledger")
        monkeypatch.setenv(ENVIRONMENT, str(broken))
        code, answer = await ask("config", method="PUT", body={"source": "simulated"})
        assert code == 403
        assert "is not a ledger" in answer["message"]
        assert service.config.current.source == "auto"
