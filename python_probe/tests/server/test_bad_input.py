"""Whatever a client sends, it gets a sentence, and the kernel lives on."""

import asyncio
import json
import math
import os
import signal

import pytest

NOBODY = "00000000-0000-4000-8000-000000000000"
LARGE = json.dumps({"remedies": [{"id": "delete", "names": ["x" * 1000] * 10_000}]}).encode()
BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "text": b'"text"',
    "null": b"null",
    "array": b"[]",
    "not UTF-8": b'{"remedies": "\xff\xfe"}',
    "zeros": b"\0" * 100,
    "nested": b'{"remedies":' + b"[" * 100_000,
    "nested closed": b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "wrong types": b'{"remedies": 1, "interval": "1", "pid": "1", "started_at": []}',
    "unknown field": b'{"nonsense": 1}',
    "huge number": b'{"interval": 1e400, "pid": 1e400, "started_at": 1e400, "remedies": 1e400}',
    "large": LARGE,
}
ROUTES = [
    ("POST", f"kernels/{NOBODY}/remedies"),
    ("PUT", "config"),
    ("POST", "holders/end"),
]


def refused(code, answer, *codes):
    assert code in codes, (code, answer)
    assert set(answer) == {"message", "reason"}
    assert answer["message"].rstrip().endswith((".", "?"))
    assert "Traceback" not in answer["message"]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(("verb", "path"), ROUTES)
async def test_bodies(verb, path, body, ask):
    code, answer = await ask(path, method=verb, body=body)
    refused(code, answer, 413 if body is LARGE else 400)


@pytest.mark.parametrize(
    "body",
    [
        {"remedies": []},
        {"remedies": [{"id": "collect"}] * 21},
        {"remedies": [{}]},
        {"remedies": [{"id": "format-the-disk"}]},
        {"remedies": [{"id": "collect", "names": [1]}]},
        {"remedies": [{"id": "end-children", "pids": [0]}]},
        {"remedies": [{"id": "restart", "budget": -1}]},
        {"remedies": [{"id": "collect", "shell": "rm"}]},
        {"remedies": [{"id": "collect"}], "when": "never"},
        {"remedies": [{"id": "collect"}, {"id": "collect"}]},
        {"remedies": [{"id": "restart"}, {"id": "shutdown"}]},
        {"remedies": [{"id": "park"}, {"id": "restore"}]},
        {"remedies": [{"id": "delete"}]},
        {"remedies": [{"id": "delete", "names": []}]},
        {"remedies": [{"id": "delete", "names": ["x" * 1001]}]},
        {"remedies": [{"id": "delete", "names": "x"}]},
        {"remedies": [{"id": "delete", "names": ["x"], "all": True}]},
        {"remedies": [{"id": "collect", "names": []}]},
        {"remedies": [{"id": "unpin-outputs", "all": "yes"}]},
        {"remedies": [{"id": "unpin-exceptions", "all": True}]},
        {"remedies": [{"id": "end-children"}]},
        {"remedies": [{"id": "end-children", "pids": []}]},
        {"remedies": [{"id": "end-children", "pids": [1]}]},
        {"remedies": [{"id": "end-children", "pids": [2**62]}]},
        {"remedies": [{"id": "end-children", "pids": [math.nan]}]},
        {"remedies": [{"id": "end-children", "pids": ["1"]}]},
        {"remedies": [{"id": "shutdown", "place": "cpu"}]},
        {"remedies": [{"id": "restart", "place": ""}]},
        {"remedies": [{"id": "restart", "place": "0"}]},
        {"remedies": [{"id": "restart", "place": "GPU-of-nobody"}]},
        {"remedies": [{"id": "restart", "place": "cpu\u0000; rm"}]},
        {"remedies": [{"id": "restart", "place": "\U0001f4a9" * 200}]},
        {"remedies": [{"id": "restart", "place": "x" * 201}]},
        {"remedies": [{"id": "restart", "budget": 1}]},
    ],
    ids=str,
)
async def test_remedies_that_make_no_sense(body, ask, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    code, answer = await ask(f"kernels/{kernel}/remedies", method="POST", body=body)
    refused(code, answer, 400)
    assert await jp_serverapp.kernel_manager.is_alive(kernel)


async def test_more_names_than_a_request_may_carry(ask, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    body = {"remedies": [{"id": "delete", "names": ["x" * 1000] * 300}]}
    refused(*await ask(f"kernels/{kernel}/remedies", method="POST", body=body), 413)


async def test_names_that_are_no_variables_are_reported(ask, jp_serverapp):
    """Whatever they are: not there, nothing deleted, nothing broken."""
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    client = jp_serverapp.kernel_manager.get_kernel(kernel).client()
    client.start_channels()
    await client.wait_for_ready(timeout=30)
    client.stop_channels()
    names = [
        "",
        " ",
        "a.b",
        "x; y",
        "__builtins__",
        "In",
        "\u202e",
        "\U0001f4a9",
        "None",
        "x" * 1000,
    ]
    body = {"remedies": [{"id": "delete", "names": names}]}
    code, report = await ask(f"kernels/{kernel}/remedies", method="POST", body=body)
    assert code == 200, report
    (step,) = report["steps"]
    assert step["ok"] is not None
    assert step["text"]
    assert "Traceback" not in step["text"]
    assert await jp_serverapp.kernel_manager.is_alive(kernel)


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_nothing_to_stop(verb, ask, jp_serverapp):
    kernel = await jp_serverapp.kernel_manager.start_kernel()
    code, answer = await ask(f"kernels/{kernel}/remedies", method=verb)
    refused(code, answer, 405 if verb == "GET" else 404)


@pytest.mark.parametrize(
    "body",
    [
        {"interval": 0},
        {"interval": 61},
        {"interval": None},
        {"source": "amd"},
        {"thresholds": {"high": 2}},
        {"thresholds": {"hot": "80"}},
        {"thresholds": {"colour": 1}},
        {"park_ticked": "yes"},
    ],
    ids=str,
)
async def test_settings_that_make_no_sense(body, ask, service):
    before = service.config.current
    code, answer = await ask("config", method="PUT", body=body)
    refused(code, answer, 400)
    assert service.config.current is before


@pytest.mark.parametrize(
    "kernel", [NOBODY, "x", "%2e%2e", "a" * 5000, "%00", "%ff", "%F0%9F%92%A9", "' or 1=1"]
)
async def test_kernels_that_are_not(kernel, ask, http_server_client, jp_base_url, jp_auth_header):
    body = json.dumps({"remedies": [{"id": "collect"}]})
    for verb, what, content in (
        ("GET", "plan", None),
        ("POST", "remedies", body),
        ("DELETE", "remedies", None),
    ):
        # Not through jp_fetch, which would escape the path once more.
        response = await http_server_client.fetch(
            f"{jp_base_url}jupyterlab-vram/kernels/{kernel.replace(' ', '%20')}/{what}",
            method=verb,
            body=content,
            headers=jp_auth_header,
            raise_error=False,
        )
        # Tornado itself refuses a path that isn't text, in its own words.
        assert response.code == (400 if kernel == "%ff" else 404)
        assert json.loads(response.body)["message"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"span": "x"}, 400),
        ({"span": "nan"}, 400),
        ({"span": "inf"}, 400),
        ({"span": "-1"}, 400),
        ({"span": "0"}, 400),
        ({"step": "0"}, 400),
        ({"step": ""}, 400),
        ({"from": "yesterday"}, 400),
        ({"from": "1e999"}, 400),
        ({"gpu": "GPU-0"}, 404),
        ({"kernel": NOBODY}, 404),
    ],
    ids=str,
)
async def test_history_of_what_is_not(query, status, ask):
    code, answer = await ask("history", params=query)
    refused(code, answer, status)


@pytest.mark.parametrize("query", [{"span": "1e300"}, {"from": "-1e300"}, {"from": "1e300"}])
async def test_history_of_far_away_times_is_an_answer(query, ask):
    await ask("snapshot")
    code, answer = await ask("history", params=query)
    assert code == 200
    (series,) = answer["gpus"].values()
    assert len(series["used"]) <= 600


@pytest.mark.parametrize(
    ("pid", "status"), [(1, 403), (4, 403), (2**31 - 1, 403), (2**63, 400), (2**200, 400)]
)
async def test_processes_that_may_not_be_ended(pid, status, ask):
    code, answer = await ask("holders", "end", method="POST", body={"pid": pid, "started_at": 1.0})
    if code == 200:
        assert "had ended" in answer["text"]  # there is no process with this number
    else:
        refused(code, answer, status)


@pytest.mark.parametrize(
    ("verb", "path"), [("DELETE", "config"), ("PATCH", "snapshot"), ("DELETE", "stream")]
)
async def test_other_verbs(verb, path, ask):
    kwargs = {"body": b""} if verb == "PATCH" else {}
    code, answer = await ask(path, method=verb, **kwargs)
    refused(code, answer, 405)


async def test_a_kernel_that_ends_while_its_memory_is_freed(ask, jp_serverapp):
    """Every way in which the two can meet gets an answer, never a 500."""
    manager = jp_serverapp.kernel_manager
    for delay in (0.0, 0.01, 0.05, 0.2):
        kernel = await manager.start_kernel()

        async def end(kernel=kernel, delay=delay):
            await asyncio.sleep(delay)
            await manager.shutdown_kernel(kernel, now=True)

        body = {"remedies": [{"id": "collect"}, {"id": "release-cache"}]}
        plan, run, _ = await asyncio.gather(
            ask(f"kernels/{kernel}/plan"),
            ask(f"kernels/{kernel}/remedies", method="POST", body=body),
            end(),
        )
        for code, answer in (plan, run):
            if code == 200:
                assert answer["kernel_id"] == kernel
            else:
                refused(code, answer, 404, 409)


async def test_a_kernel_that_answers_nobody(ask, jp_serverapp):
    manager = jp_serverapp.kernel_manager
    kernel = await manager.start_kernel()
    pid = manager.get_kernel(kernel).provisioner.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        body = {"remedies": [{"id": "collect"}]}
        refused(*await ask(f"kernels/{kernel}/remedies", method="POST", body=body), 409)
        code, plan = await ask(f"kernels/{kernel}/plan")
        assert (code, plan["state"]) == (200, "silent")
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_page_of_another_origin_can_change_nothing(
    app, browser, http_server_client, jp_base_url
):
    """With a browser's cookie, but without the XSRF token."""
    headers = await browser()
    for verb, path, body in (
        ("PUT", "config", {"interval": 2}),
        ("POST", f"kernels/{NOBODY}/remedies", {"remedies": [{"id": "restart"}]}),
        ("DELETE", f"kernels/{NOBODY}/remedies", None),
        ("POST", "holders/end", {"pid": 1, "started_at": 0}),
    ):
        response = await http_server_client.fetch(
            f"{jp_base_url}jupyterlab-vram/{path}",
            method=verb,
            body=None if body is None else json.dumps(body),
            headers=headers,
            raise_error=False,
        )
        assert response.code == 403
        assert "_xsrf" in json.loads(response.body)["message"]
