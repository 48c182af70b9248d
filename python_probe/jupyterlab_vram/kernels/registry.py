"""Which kernels run on this server, and which ran before.

Only reads what jupyter_server already knows: no message goes to a kernel, so that looking never
refreshes ``last_activity`` and idle culling still works.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast, get_args
from urllib.parse import urlparse

import psutil
from jupyter_client.localinterfaces import is_local_ip
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_core.utils import ensure_async
from jupyter_server.gateway.managers import GatewayKernelManager

from .. import wire
from .errors import KernelGone
from .known import EndedKernel, KnownKernel, notebook_of
from .place import place_of
from .processes import printable

REMEMBERED = 256
"""How many ended kernel processes are kept, to name what they leave behind."""

_STATES = frozenset(get_args(wire.KernelState))


@dataclass(frozen=True, slots=True)
class _Kind:
    """What stays for as long as a kernel's process does. Kept, because the manager's traits cost
    more to read than all the rest of a look, which is made at every reading."""

    name: str
    language: str | None
    host: str | None
    place: str | None

    @classmethod
    def of(cls, manager: Any) -> _Kind:
        return cls(
            printable(manager.kernel_name), _language(manager), _host(manager), place_of(manager)
        )


@dataclass(slots=True)
class _Process:
    handle: object
    """The provisioner's own; another object after a restart."""
    process: psutil.Process
    started_at: float | None
    kind: _Kind
    sessions: tuple[wire.KernelSession, ...] = ()
    """The last that were open: they tell the notebook also when they are closed before it ends."""


@dataclass(slots=True)
class _Sessions:
    version: object = None
    by_kernel: dict[str, tuple[wire.KernelSession, ...]] = field(default_factory=dict)


class KernelRegistry:
    """Kernels of one jupyter_server. Use from the event loop's thread only.

    Args:
        kernel_manager: the server's ``MappingKernelManager``.
        session_manager: the server's ``SessionManager``.
    """

    def __init__(self, kernel_manager: Any, session_manager: Any) -> None:
        self.kernel_manager = kernel_manager
        self._session_manager = session_manager
        self._sessions = _Sessions()
        self._processes: dict[str, _Process] = {}
        self._ended: OrderedDict[psutil.Process, EndedKernel] = OrderedDict()

    def ended(self) -> tuple[EndedKernel, ...]:
        """Earlier kernel processes, the latest last; bounded by ``REMEMBERED``."""
        return tuple(self._ended.values())

    async def list(self) -> Sequence[KnownKernel]:
        """All kernels now. Follows restarts, renames and ends since the last call."""
        ids = self.kernel_manager.list_kernel_ids()
        sessions = await self._list_sessions(ids)
        kernels = []
        for kernel_id in ids:
            try:
                kernels.append(self._look(kernel_id, sessions.get(kernel_id, ())))
            except KeyError:
                continue  # ended since the ids were listed
        self._note_ended({kernel.id for kernel in kernels})
        return kernels

    async def get(self, kernel_id: str) -> KnownKernel:
        """One kernel.

        Raises:
            KernelGone: there is no such kernel.
        """
        if kernel_id not in self.kernel_manager:
            raise KernelGone("This server has no such kernel. It may have been shut down.")
        sessions = await self._list_sessions(self.kernel_manager.list_kernel_ids())
        try:
            return self._look(kernel_id, sessions.get(kernel_id, ()))
        except KeyError:
            raise KernelGone() from None

    def _look(self, kernel_id: str, sessions: tuple[wire.KernelSession, ...]) -> KnownKernel:
        manager = self.kernel_manager.get_kernel(kernel_id)
        process = self._process(kernel_id, manager)
        kind = process.kind if process else _Kind.of(manager)
        if process is not None and sessions:
            process.sessions = sessions
        return KnownKernel(
            id=kernel_id,
            name=kind.name,
            language=kind.language,
            process=process.process if process else None,
            started_at=process.started_at if process else None,
            host=kind.host,
            place=kind.place,
            state=_state(manager),
            last_activity=_seconds(getattr(manager, "last_activity", None)),
            # kernel_model() tells it too, but costs a web request a kernel with a gateway
            connections=self.kernel_manager._kernel_connections.get(kernel_id),
            sessions=sessions,
        )

    def _process(self, kernel_id: str, manager: Any) -> _Process | None:
        """The local process, its start time read once for each incarnation."""
        provisioner = getattr(manager, "provisioner", None)
        handle = getattr(provisioner, "process", None)
        known = self._processes.get(kernel_id)
        if known is not None and known.handle is handle:
            return known
        if known is not None:
            self._end(kernel_id, known)
        if handle is None or not isinstance(provisioner, LocalProvisioner):
            return None
        try:
            process = psutil.Process(provisioner.pid)
            started = _Process(handle, process, process.create_time(), _Kind.of(manager))
        except psutil.Error:
            return None  # it ended at once; the manager restarts it or gives it up
        self._processes[kernel_id] = started
        return started

    def _note_ended(self, alive: set[str]) -> None:
        for kernel_id in self._processes.keys() - alive:
            self._end(kernel_id, self._processes[kernel_id])

    def _end(self, kernel_id: str, process: _Process) -> None:
        del self._processes[kernel_id]
        self._ended[process.process] = EndedKernel(
            id=kernel_id,
            process=process.process,
            notebook=notebook_of(process.sessions),
            ended_at=time.time(),
        )
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    async def _list_sessions(
        self, kernel_ids: Sequence[str]
    ) -> dict[str, tuple[wire.KernelSession, ...]]:
        """Sessions by kernel; the session manager is asked only when its table changed.

        Listing costs a query and a model a session on the event loop. sqlite counts the rows that
        its connection changed, which tells a new, renamed or closed session for nothing.
        """
        changes = getattr(getattr(self._session_manager, "connection", None), "total_changes", None)
        version = (changes, tuple(kernel_ids))
        if changes is not None and version == self._sessions.version:
            return self._sessions.by_kernel
        by_kernel: dict[str, tuple[wire.KernelSession, ...]] = {}
        for model in await ensure_async(self._session_manager.list_sessions()):
            session = wire.KernelSession(
                id=model["id"],
                path=printable(model["path"]),
                name=printable(model["name"]),
                type=printable(model["type"]),
            )
            kernel_id = model["kernel"]["id"]
            by_kernel[kernel_id] = (*by_kernel.get(kernel_id, ()), session)
        self._sessions = _Sessions(version, by_kernel)
        return self._sessions.by_kernel


def _language(manager: Any) -> str | None:
    if isinstance(manager, GatewayKernelManager):
        return None  # its specification would have to be fetched
    spec = manager.kernel_spec
    return printable(spec.language) if spec is not None and spec.language else None


def _host(manager: Any) -> str | None:
    """The other computer that the kernel runs on, None for this one."""
    if isinstance(manager, GatewayKernelManager):
        return printable(urlparse(manager.kernels_url).hostname or "gateway")
    if manager.transport == "ipc" or not manager.ip or is_local_ip(manager.ip):
        return None
    return printable(manager.ip)


def _state(manager: Any) -> wire.KernelState:
    state = getattr(manager, "execution_state", None)
    return cast(wire.KernelState, state) if state in _STATES else "unknown"


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if isinstance(moment, datetime) else None
