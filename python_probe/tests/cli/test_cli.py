"""The command line as a program of its own, beside a real server with real kernels."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.simulated.ledger import Ledger

GIB = 1 << 30
COMMAND = [sys.executable, "-m", "jupyterlab_vram.cli"]
SIMULATED = ["snapshot", "--source", "simulated"]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    path = tmp_path / "ledger"
    monkeypatch.setenv("VRAM_SIMULATED_LEDGER", str(path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.delenv("COLUMNS", raising=False)
    with Ledger.create(path) as ledger:
        yield ledger


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


def flat(text: str) -> str:
    return " ".join(text.split())


@asynccontextmanager
async def kernel(serverapp: Any, path: str) -> AsyncIterator[int]:
    """A notebook with its kernel; yields the kernel's process number."""
    session = await serverapp.session_manager.create_session(
        path=path, name=path, type="notebook", kernel_name="python3"
    )
    kernel_id = session["kernel"]["id"]
    try:
        yield serverapp.kernel_manager.get_kernel(kernel_id).provisioner.pid
    finally:
        await serverapp.kernel_manager.shutdown_kernel(kernel_id, now=True)


async def beside(*arguments: str) -> tuple[int | None, str, str]:
    """Run the command while the server of this test answers."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
def runtime(
    ledger: Ledger, jp_runtime_dir: Path, http_server: Any, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder where the server, which answers requests, says how to reach it."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(jp_runtime_dir))
    return jp_runtime_dir


async def test_a_servers_notebooks_are_named(
    runtime: Path, ledger: Ledger, jp_serverapp: Any
) -> None:
    async with kernel(jp_serverapp, "embeddings.ipynb") as pid:
        ledger.charge(pid, 0, 11 * GIB)
        code, out, err = await beside(*SIMULATED)
        assert (code, err) == (0, "")
        assert "11.0 GiB embeddings.ipynb" in flat(out)
        assert "SIMULATED" in out
        assert "\x1b" not in out
        code, out, err = await beside(*SIMULATED, "--json")
    assert (code, err) == (0, "")
    snapshot = msgspec.json.decode(out, type=wire.Snapshot)
    [row] = snapshot.kernels
    assert (row.notebook, row.bytes, row.pids) == ("embeddings.ipynb", 11 * GIB, [pid])
    [holder] = snapshot.holders
    assert (holder.kind, holder.role, holder.kernel_id) == ("kernel", "main", row.id)


@pytest.mark.parametrize(
    "jp_server_config",
    [
        {
            "ServerApp": {"jpserver_extensions": {"jupyterlab_vram": True}},
            "VramApp": {"source": "simulated"},
        }
    ],
)
async def test_our_own_server_part_is_asked_first(
    runtime: Path, ledger: Ledger, jp_serverapp: Any
) -> None:
    [app] = jp_serverapp.extension_manager.extension_apps["jupyterlab_vram"]
    await app._start_jupyter_server_extension(jp_serverapp)
    async with kernel(jp_serverapp, "a.ipynb") as pid:
        ledger.charge(pid, 0, GIB)
        code, out, err = await beside(*SIMULATED, "--json")
    assert (code, err) == (0, "")
    [row] = msgspec.json.decode(out, type=wire.Snapshot).kernels
    assert (row.notebook, row.language, row.bytes) == ("a.ipynb", "python", GIB)


async def test_a_server_that_wants_a_password(
    runtime: Path, ledger: Ledger, jp_serverapp: Any
) -> None:
    [info] = runtime.glob("jpserver-*.json")
    told = json.loads(info.read_text())
    info.write_text(json.dumps({**told, "token": ""}))
    async with kernel(jp_serverapp, "secret.ipynb") as pid:
        ledger.charge(pid, 0, GIB)
        code, out, err = await beside(*SIMULATED)
    assert (code, err) == (0, "")
    assert "lets nobody in without its password or its hub" in flat(out)
    assert "secret.ipynb" in out, "by what the kernel's process carries"
    assert "another program's kernel" in out


async def test_a_port_that_belongs_to_somebody_else_gets_no_token(
    runtime: Path, ledger: Ledger, jp_serverapp: Any
) -> None:
    asked: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1000))
        writer.close()

    [info] = runtime.glob("jpserver-*.json")
    told = json.loads(info.read_text())
    stranger = await asyncio.start_server(listen, "127.0.0.1", 0)
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        port = stranger.sockets[0].getsockname()[1]
        info.write_text(json.dumps({**told, "pid": sleeper.pid, "port": port}))
        code, out, _ = await beside(*SIMULATED)
    finally:
        sleeper.kill()
        sleeper.wait()
        stranger.close()
        info.write_text(json.dumps(told))
    assert code == 0
    assert "does not listen on this computer" in flat(out)
    assert asked == []


def test_text_from_processes_is_only_text(ledger: Ledger, tmp_path: Path) -> None:
    program = tmp_path / "[red]x\x1b[2J\u202egnp"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    process = subprocess.Popen([program, "60"])
    try:
        ledger.charge(process.pid, 0, GIB)
        told = run(*SIMULATED)
        as_json = run(*SIMULATED, "--json")
    finally:
        process.kill()
        process.wait()
    assert told.returncode == 0
    assert "[red]x" in told.stdout
    assert "\x1b" not in told.stdout
    assert "\u202e" not in told.stdout
    assert "\x1b" not in as_json.stdout
    assert json.loads(as_json.stdout)["holders"][0]["kind"] == "own"


def test_no_reading(ledger: Ledger) -> None:
    ledger.inject("nvmlInit_v2", code="DRIVER_NOT_LOADED")
    told = run(*SIMULATED)
    assert (told.returncode, told.stdout) == (1, "")
    assert "driver" in told.stderr
    as_json = run(*SIMULATED, "--json")
    assert as_json.returncode == 1
    assert "driver" in as_json.stderr
    snapshot = msgspec.json.decode(as_json.stdout, type=wire.Snapshot)
    assert snapshot.state == "no-driver"
    assert snapshot.problem is not None


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["snapshot", "--source", "magic"],
        ["snapshot", "--watch", "never"],
        ["snapshot", "--watch", "0"],
        ["snapshot", "--watch", "nan"],
    ],
)
def test_wrong_usage(ledger: Ledger, arguments: list[str]) -> None:
    told = run(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert "usage: jupyter vram" in told.stderr


def test_watch_prints_a_document_a_line_until_interrupted(ledger: Ledger) -> None:
    process = subprocess.Popen(
        [*COMMAND, *SIMULATED, "--json", "--watch", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    times = [json.loads(process.stdout.readline())["taken_at"] for _ in range(3)]
    assert times == sorted(set(times))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (0, "")


def test_watch_on_a_terminal(ledger: Ledger) -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *SIMULATED, "--watch", "0.2"],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
        )
        os.close(theirs)
        seen = b""
        while seen.count(b"SIMULATED") < 3:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        os.close(ours)
        assert (process.returncode, err) == (0, b"")
        assert (b"\x1b[1;33m" in seen) is coloured


def test_a_reader_that_goes_away(ledger: Ledger) -> None:
    process = subprocess.Popen(
        [*COMMAND, *SIMULATED, "--json", "--watch", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(10), err) == (0, b"")


def test_what_needs_no_reading_is_quick(ledger: Ledger) -> None:
    """The server's own modules take over a second to load, and are not needed here."""
    check = "import sys; from jupyterlab_vram.cli import main; main(['snapshot', '--json', "
    check += "'--source', 'simulated']); print('jupyter_server' in sys.modules, file=sys.stderr)"
    told = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert told.stderr == "False\n"


def test_a_terminal_that_lacks_a_character(ledger: Ledger) -> None:
    ended = run(*SIMULATED, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "SIMULATED ? no real GPU" in ended.stdout


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["table", "json"])
@pytest.mark.parametrize(
    ("redirect", "code", "said"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">/dev/full", 1, "jupyter vram stopped: No space left on device."),
    ],
)
def test_output_that_goes_nowhere(
    ledger: Ledger, redirect: str, code: int, said: str, as_json: list[str]
) -> None:
    script = f'exec "$@" {redirect}'
    command = ["sh", "-c", script, "sh", *COMMAND, *SIMULATED, *as_json]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr.strip()) == (code, said)


@pytest.mark.parametrize(
    "answer", ["[]", "[{}]", '[{"id": 1, "name": null}]', '[{"id": "k"}]', "{}", '"\\ud800"']
)
async def test_a_server_whose_answers_are_strange(
    ledger: Ledger, tmp_path: Path, answer: str
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        status = "404 Not Found" if b"snapshot" in head else "200 OK"
        assert head.startswith(b"GET /jos%C3%A9/")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\n\r\n{answer}".encode())
        writer.close()

    server = await asyncio.start_server(talk, "localhost", 0, family=socket.AF_INET)
    info = {
        "pid": os.getpid(),
        "port": server.sockets[0].getsockname()[1],
        "base_url": "/josé/",
        "token": "t",
        "secure": False,
    }
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "jpserver-1.json").write_text(json.dumps(info))
    async with server:
        code, out, err = await beside(*SIMULATED)
    assert (code, err) == (0, "")
    assert ("named from their processes" in out) == (answer != "[]")
