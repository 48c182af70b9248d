"""This user's running Jupyter servers, asked for their notebooks."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import quote

import msgspec
import psutil
from jupyter_core.paths import jupyter_runtime_dir

from .. import wire
from ..kernels import processes
from ..kernels.known import KnownKernel
from ..kernels.processes import printable

LIMIT = 2.0
"""Seconds that a server gets for each answer."""

MOST_BYTES = 16 << 20
"""No list of kernels is longer."""

_STATES = frozenset(get_args(wire.KernelState))


class Unreachable(Exception):
    """A server gave no usable answer; the text is the end of a sentence."""


@dataclass(slots=True)
class Found:
    """What all servers told together."""

    kernels: list[KnownKernel] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    """Process numbers of the servers that did."""
    notes: list[str] = field(default_factory=list)
    """A sentence for each that could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a running server wrote about itself into the runtime folder."""

    pid: int
    port: int
    base_url: str
    token: str
    secure: bool
    sock: str

    def __str__(self) -> str:
        where = self.sock or f"port {self.port}"
        return printable(f"The server at {where}{self.base_url}")


class Servers:
    """Asks all servers of this user at once, each with its own token."""

    def ask(self) -> Found:
        """Kernels with their notebooks and processes. Never raises for what a server does."""
        found = Found()
        servers = list(_running())
        if not servers:
            return found
        with ThreadPoolExecutor(max_workers=min(8, len(servers))) as pool:
            answers = pool.map(_kernels_or_note, servers)
            for server, answer in zip(servers, answers, strict=True):
                if isinstance(answer, str):
                    found.notes.append(answer)
                else:
                    found.kernels += answer
                    found.answered.append(server.pid)
        return found


def _running() -> Iterable[Server]:
    """Servers whose process still runs.

    As ``jupyter_server.serverapp.list_running_servers``, which loads the whole server (over a
    second), ends at the first file that it may not read, and deletes files.
    """
    for path in sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        try:
            info = json.loads(path.read_text(encoding="utf-8"))
            server = Server(
                pid=int(info["pid"]),
                port=int(info["port"]),
                base_url=str(info["base_url"]),
                token=str(info["token"] or ""),
                secure=bool(info["secure"]),
                sock=str(info.get("sock") or ""),
            )
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being written, another version's, or not for us
        if psutil.pid_exists(server.pid):
            yield server


def _kernels_or_note(server: Server) -> list[KnownKernel] | str:
    try:
        _check_that_it_listens(server)
        return _kernels(server)
    except Unreachable as error:
        why = str(error)
    except (LookupError, TypeError, ValueError):
        why = "gives an answer of another form"  # another program's, or another version's
    return f"{server} {why}; its notebooks are named from their processes."


def _check_that_it_listens(server: Server) -> None:
    """The token goes to that server only, not to whoever has its port now.

    A home folder that several computers share holds the files of servers that run elsewhere.

    Raises:
        Unreachable
    """
    if server.sock:
        return  # only who owns the folder can have put it there
    try:
        process = psutil.Process(server.pid)
        own = processes.owner(process) == processes.owner(psutil.Process())
        # psutil before 6 has the first name only, later ones warn of it
        name = "net_connections" if hasattr(process, "net_connections") else "connections"
        listens = own and any(
            each.status == psutil.CONN_LISTEN and each.laddr.port == server.port
            for each in getattr(process, name)(kind="inet")
        )
    except psutil.Error:
        listens = False
    if not listens:
        raise Unreachable("does not listen on this computer")


def _kernels(server: Server) -> list[KnownKernel]:
    """
    Raises:
        Unreachable
    """
    ours = _get(server, "jupyterlab-vram/snapshot")
    if ours is not None:
        try:
            snapshot = msgspec.json.decode(ours, type=wire.Snapshot)
            if snapshot.schema == wire.SCHEMA:
                return [_as_known(kernel) for kernel in snapshot.kernels]
        except msgspec.DecodeError:
            pass  # another version's; the server's own lists do not change
    listed = _get_list(server, "api/kernels")
    sessions: dict[str, tuple[wire.KernelSession, ...]] = {}
    for session in _get_list(server, "api/sessions"):
        kernel_id = session["kernel"]["id"]
        sessions[kernel_id] = (*sessions.get(kernel_id, ()), _session(session))
    found = _kernel_processes(server.pid)
    return [_known(kernel, sessions, found) for kernel in listed]


def _get_list(server: Server, path: str) -> list[dict[str, Any]]:
    body = _get(server, path)
    try:
        return msgspec.json.decode(body or b"", type=list[dict[str, Any]])
    except msgspec.DecodeError:
        raise Unreachable("does not list its kernels") from None


def _get(server: Server, path: str) -> bytes | None:
    """The answer's body; None if there is no such address.

    Raises:
        Unreachable
    """
    connection = _connection(server)
    headers = {"Authorization": f"token {server.token}"} if server.token else {}
    try:
        # a look is no use of the server: culling goes on
        where = quote(server.base_url, safe="/%:@!$&'()*+,;=~")
        connection.request("GET", f"{where}{path}?no_track_activity=1", headers=headers)
        answer = connection.getresponse()
        if answer.status == 404:
            return None
        if answer.status in (301, 302, 303, 307, 401, 403):
            # which of the two, its file doesn't tell: "password" there knows the old option only
            raise Unreachable("lets nobody in without its password or its hub")
        if answer.status != 200:
            raise Unreachable(f"answers with an error ({answer.status})")
        return answer.read(MOST_BYTES)
    except (OSError, http.client.HTTPException):
        raise Unreachable("does not answer") from None
    finally:
        connection.close()


def _connection(server: Server) -> http.client.HTTPConnection:
    """To this computer only, past any proxy. What listens there is known to be the server, so its
    certificate, made for another name, proves nothing more."""
    if server.sock:
        return _LocalSocket(server.sock)
    if server.secure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("localhost", server.port, timeout=LIMIT, context=context)
    return http.client.HTTPConnection("localhost", server.port, timeout=LIMIT)


class _LocalSocket(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=LIMIT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(LIMIT)
        self.sock.connect(self._path)


def _kernel_processes(server: int) -> dict[str, psutil.Process]:
    """The server's children that were started with a kernel's connection file."""
    found = {}
    try:
        for child in psutil.Process(server).children():
            try:
                kernel_id = processes.kernel_of_command(processes.look(child).command)
            except psutil.NoSuchProcess:
                continue
            if kernel_id is not None:
                found[kernel_id] = child
    except psutil.Error:
        pass  # without their processes, kernels are listed with unknown sizes
    return found


def _session(model: Mapping[str, Any]) -> wire.KernelSession:
    return wire.KernelSession(
        id=str(model["id"]),
        path=printable(model["path"]),
        name=printable(model["name"]),
        type=printable(model["type"]),
    )


def _known(
    model: Mapping[str, Any],
    sessions: Mapping[str, tuple[wire.KernelSession, ...]],
    found: Mapping[str, psutil.Process],
) -> KnownKernel:
    state = model.get("execution_state")
    connections = model.get("connections")
    return _with_start(
        found.get(model["id"]),
        id=str(model["id"]),
        name=printable(model["name"]),
        state=cast(wire.KernelState, state) if state in _STATES else "unknown",
        last_activity=_seconds(model.get("last_activity")),
        connections=connections if isinstance(connections, int) else None,
        sessions=sessions.get(model["id"], ()),
    )


def _as_known(kernel: wire.Kernel) -> KnownKernel:
    """A kernel of a server that has our extension, which knows its process."""
    process = None
    if kernel.pids and kernel.host is None:
        try:
            process = psutil.Process(kernel.pids[0])
        except psutil.Error:
            process = None  # it has ended since
    return _with_start(
        process,
        id=kernel.id,
        name=kernel.name,
        language=kernel.language,
        host=kernel.host,
        state=kernel.state,
        last_activity=kernel.last_activity,
        connections=kernel.connections,
        sessions=tuple(kernel.sessions),
    )


def _with_start(process: psutil.Process | None, **known: Any) -> KnownKernel:
    try:
        started_at = process.create_time() if process is not None else None
    except psutil.Error:
        process = started_at = None
    return KnownKernel(process=process, started_at=started_at, **known)


def _seconds(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
