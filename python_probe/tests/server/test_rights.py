"""Every route and every remedy, with and without the right that it needs."""

import asyncio
import json
from typing import ClassVar

import pytest
from hearing import heard
from jupyter_server.auth import Authorizer
from jupyterlab_vram.server.routes import ENDS_PROCESSES
from jupyterlab_vram.wire import RemedyId
from tornado.httpclient import HTTPClientError

KERNEL = "00000000-0000-4000-8000-000000000000"


class Recorder(Authorizer):
    """Grants ``granted`` on kernels, and notes what it was asked."""

    granted: frozenset = frozenset()
    asked: ClassVar[list] = []

    def is_authorized(self, handler, user, action, resource):
        self.asked.append((action, resource))
        return resource == "kernels" and action in self.granted


@pytest.fixture
def jp_server_config(jp_server_config):
    jp_server_config["ServerApp"]["authorizer_class"] = Recorder
    return jp_server_config


@pytest.fixture
def grant(monkeypatch):
    def grant(*actions):
        monkeypatch.setattr(Recorder, "granted", frozenset(actions))
        monkeypatch.setattr(Recorder, "asked", [])

    grant()
    return grant


# (verb, path, body, the right at the door, the status with that right)
ROUTES = [
    ("GET", "snapshot", None, "read", 200),
    ("GET", "history", None, "read", 200),
    ("GET", f"kernels/{KERNEL}/plan", None, "read", 404),
    ("POST", f"kernels/{KERNEL}/remedies", {"remedies": []}, "read", 400),
    ("DELETE", f"kernels/{KERNEL}/remedies", None, "read", 404),
    ("GET", "config", None, "read", 200),
    ("PUT", "config", {"interval": 2}, "write", 200),
    ("POST", "holders/end", {"pid": 1, "started_at": 0}, "write", 403),
]
ALL = {"read", "write", "execute"}
IDS = [f"{verb} {path}" for verb, path, *_ in ROUTES]


@pytest.mark.parametrize(("verb", "path", "body", "right", "status"), ROUTES, ids=IDS)
async def test_the_right_at_the_door(verb, path, body, right, status, ask, grant):
    grant(*ALL - {right})
    code, answer = await ask(path, method=verb, body=body)
    assert code == 403
    assert right in answer["message"]
    assert Recorder.asked == [(right, "kernels")]

    grant(right)
    code, _ = await ask(path, method=verb, body=body)
    assert code == status
    assert Recorder.asked[0] == (right, "kernels")


async def test_the_stream_needs_read(app, jp_ws_fetch, grant):
    grant("write", "execute")
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("jupyterlab-vram", "stream")
    assert refused.value.code == 403
    assert Recorder.asked == [("read", "kernels")]
    grant("read")
    socket = await jp_ws_fetch("jupyterlab-vram", "stream")
    assert json.loads(await socket.read_message())["type"] == "snapshot"
    socket.close()


NEEDED = {"delete": {"names": ["x"]}, "end-children": {"pids": [5]}}


@pytest.mark.parametrize("remedy", RemedyId.__args__)
async def test_each_remedy_needs_its_right(remedy, ask, grant):
    needed = "write" if remedy in ENDS_PROCESSES else "execute"
    step = {"id": remedy, **NEEDED.get(remedy, {})}
    path, body = f"kernels/{KERNEL}/remedies", {"remedies": [step]}

    grant(*ALL - {needed})
    code, answer = await ask(path, method="POST", body=body)
    assert code == 403
    assert needed in answer["message"]
    assert Recorder.asked == [("read", "kernels"), (needed, "kernels")]

    grant("read", needed)
    code, answer = await ask(path, method="POST", body=body)
    assert code == 404, answer  # past the rights: there is no such kernel


async def test_one_remedy_without_its_right_stops_all(ask, grant, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    grant("read", "write")
    body = {"remedies": [{"id": "restart"}, {"id": "collect"}]}
    pid = jp_serverapp.kernel_manager.get_kernel(kernel).provisioner.pid
    code, _ = await ask(f"kernels/{kernel}/remedies", method="POST", body=body)
    assert code == 403
    assert jp_serverapp.kernel_manager.get_kernel(kernel).provisioner.pid == pid


STEPS = {"collect": "execute", "shutdown": "write"}


@pytest.mark.parametrize("remedy", STEPS)
async def test_stopping_needs_what_the_run_needed(remedy, ask, grant, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    manager = jp_serverapp.kernel_manager.get_kernel(kernel)
    client = manager.client()
    client.start_channels()
    await heard(manager, client)
    client.execute("import time; time.sleep(60)")
    while manager.execution_state != "busy":
        await asyncio.sleep(0.01)
    grant(*ALL)
    path = f"kernels/{kernel}/remedies"
    body = {"remedies": [{"id": remedy}], "when": "idle"}
    run = asyncio.ensure_future(ask(path, method="POST", body=body))
    while (await ask(f"kernels/{kernel}/plan"))[1]["text"].count("close the browser") == 0:
        await asyncio.sleep(0.05)

    grant(*ALL - {STEPS[remedy]})
    code, answer = await ask(path, method="DELETE")
    assert code == 403
    assert STEPS[remedy] in answer["message"]
    assert not run.done()
    grant("read", STEPS[remedy])
    assert (await ask(path, method="DELETE"))[0] == 200
    assert (await run)[1]["steps"][0]["text"] == "Not run. You stopped it."
    client.stop_channels()


async def test_a_plan_runs_no_code_for_who_may_only_read(ask, grant, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    grant("read")
    code, plan = await ask(f"kernels/{kernel}/plan")
    assert code == 200
    assert ("execute", "kernels") in Recorder.asked
    inside = [step for step in plan["remedies"] if step["id"] not in ENDS_PROCESSES]
    assert not any(step["offered"] for step in inside)


NO_COOKIE = {"Authorization": ""}


@pytest.mark.parametrize(("verb", "path", "body", "right", "status"), ROUTES, ids=IDS)
async def test_a_stranger_gets_a_sentence(verb, path, body, right, status, ask, grant):
    grant(*ALL)
    code, answer = await ask(path, method=verb, body=body, headers=NO_COOKIE)
    assert code == 403
    assert answer["message"]
    assert Recorder.asked == []


async def test_a_stranger_gets_no_stream(app, jp_ws_fetch, grant):
    grant(*ALL)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("jupyterlab-vram", "stream", headers=NO_COOKIE)
    assert refused.value.code == 403
    assert Recorder.asked == []
