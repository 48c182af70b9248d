"""The door into a kernel: installs the agent, asks it for figures, has it run a remedy.

How, and why so (measured with jupyter_server 2.21, ipykernel 6.29 and 7.4): any execute refreshes
the kernel's ``last_activity`` and can flip a running cell's state, so there is exactly one, on the
person's click, never into a busy kernel. It adds handlers for a message type of our own, which the
server is told not to count as activity (``leave_no_trace``). IOPub is never opened: a new
subscription makes some kernels publish, which counts as activity too.
"""

from __future__ import annotations

import ast
import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from queue import Empty
from typing import Any, Literal

import msgspec
import zmq.asyncio
from msgspec import Struct

from .. import agent, wire

FIGURES_LIMIT = 1.0
"""Seconds in which a kernel that isn't held up by C code has always answered on control."""
START_LIMIT = 2.0
"""Seconds in which an idle kernel begins with what it is asked to do; a later one is busy."""
REMEDY_LIMIT = 60.0
"""Seconds that a remedy may take."""
LOOK = 0.25
"""Seconds between two looks at whether the kernel that is waited for still runs."""

Op = Literal["collect", "release-cache"]


class DeviceUse(Struct, kw_only=True, frozen=True):
    """What one framework holds on one GPU, by its own account."""

    index: int
    """As the framework counts; CUDA_VISIBLE_DEVICES makes it differ from the driver's."""
    uuid: str | None = None
    live: wire.Bytes | None = None
    cached: wire.Bytes | None = None
    context: wire.Bytes | None = None
    peak: wire.Bytes | None = None


class FrameworkFigures(Struct, kw_only=True, frozen=True):
    devices: list[DeviceUse]

    def total(self) -> wire.FrameworkUse:
        """Summed over the devices; a sum with an unknown part is unknown."""
        return wire.FrameworkUse(
            live=_sum(device.live for device in self.devices),
            cached=_sum(device.cached for device in self.devices),
            context=_sum(device.context for device in self.devices),
            peak=_sum(device.peak for device in self.devices),
        )


Frameworks = dict[str, FrameworkFigures]


class Figures(Struct, kw_only=True, frozen=True):
    """The agent's answer. Its text comes from the kernel, so it is untrusted."""

    version: str
    pid: int
    """As the kernel sees itself; in a container it may belong to another namespace."""
    hostname: str
    seconds: float
    running: str | None = None
    frameworks: Frameworks
    problems: dict[str, str] = {}
    """Framework to a sentence, for one that could not be asked."""


class RemedyDone(Struct, kw_only=True, frozen=True):
    """A remedy ran; with ``ok`` False it failed at least in part, and ``text`` says why."""

    op: str
    ok: bool
    text: str | None = None
    before: Frameworks = {}
    after: Frameworks = {}
    seconds: float


class Installed(Struct, kw_only=True, frozen=True):
    version: str
    pid: int


class Busy(Struct, kw_only=True, frozen=True):
    """A cell is running; nothing was done and nothing is left to be done later."""

    text: str = (
        "The kernel is running a cell. Wait until it has finished, interrupt it, or restart the "
        "kernel."
    )


class Silent(Struct, kw_only=True, frozen=True):
    """The kernel runs but gave no usable answer in time."""

    text: str = (
        "The kernel does not answer: its code holds Python's lock. Wait, interrupt it, or restart "
        "the kernel."
    )


class NoAgent(Struct, kw_only=True, frozen=True):
    """There is no agent in this kernel; ``possible`` tells whether one could be installed."""

    text: str
    possible: bool


class Gone(Struct, kw_only=True, frozen=True):
    """The kernel ended or restarted, before or while it was asked."""

    text: str = "The kernel has ended or was restarted."


Unanswered = Busy | Silent | NoAgent | Gone


class _Late(Struct, frozen=True):
    late: Literal[True]


def leave_no_trace(kernel_manager: Any, settings: dict[str, Any]) -> None:
    """Keeps the agent's messages from counting as activity, on the server and in the browser.

    Args:
        kernel_manager: The server's mapping kernel manager.
        settings: The web application's; JupyterLab keeps a copy of the list in its page config,
            made when it was loaded, which may have been before us.
    """
    lists = [settings.get("page_config_data", {}).get("untracked_message_types")]
    if hasattr(kernel_manager, "untracked_message_types"):
        lists.append(kernel_manager.untracked_message_types)
    for types in lists:
        if types is not None:
            types.extend(
                name for name in (agent.MESSAGE_TYPE, agent.REPLY_TYPE) if name not in types
            )


class KernelChannel:
    """Talks to the agents in one server's kernels. Belongs to the server's event loop.

    Every method returns a typed result for what may happen to a kernel and raises nothing for it.
    """

    def __init__(self, kernel_manager: Any) -> None:
        self._kernel_manager = kernel_manager
        self._context = zmq.asyncio.Context()
        # A restart makes a new provisioner: the agent is gone with the old one's process.
        self._installed: weakref.WeakSet[Any] = weakref.WeakSet()

    def close(self) -> None:
        """Ends whatever is waiting for an answer; does not wait for a kernel."""
        self._context.destroy(linger=0)

    async def figures(self, kernel_id: str) -> Figures | Silent | NoAgent | Gone:
        """What the frameworks in the kernel hold. Answers while a cell runs, leaves no trace."""
        kernel = self._kernel(kernel_id)
        if kernel is None:
            return Gone()
        if kernel.provisioner not in self._installed:
            return NoAgent(text="This kernel has not been asked yet.", possible=True)
        async with self._connected(kernel, "control") as ask:
            content = await ask(agent.MESSAGE_TYPE, {"op": "figures"}, FIGURES_LIMIT)
        if not isinstance(content, dict):
            return content
        figures = _understood(content, Figures)
        if isinstance(figures, Figures) and figures.version != agent.version():
            self._installed.discard(kernel.provisioner)
            return NoAgent(text="The kernel has another version's agent.", possible=True)
        return figures

    async def install(self, kernel_id: str) -> Installed | Unanswered:
        """Puts the agent into an idle ipykernel, or makes sure that it is there.

        Only on a person's click: it is the one thing here that other clients can notice, as a
        kernel that is busy for some milliseconds. ``last_activity`` is put back.
        """
        kernel = self._kernel(kernel_id)
        if kernel is None:
            return Gone()
        if kernel.provisioner in self._installed:
            figures = await self.figures(kernel_id)
            if isinstance(figures, Figures):
                return Installed(version=figures.version, pid=figures.pid)
            if not isinstance(figures, NoAgent):
                return figures
        language = (kernel.kernel_spec.language or "") if kernel.kernel_spec else ""
        if language.lower() != "python":
            return NoAgent(
                text=f"Only Python kernels can free memory in place; this one is for "
                f"{language or 'an unnamed language'}.",
                possible=False,
            )
        if kernel.execution_state != "idle":
            return Busy()
        # The state may be wrong: other extensions' requests flip it. So ask the main thread, with
        # a request that the server doesn't count, and only then send code.
        async with self._connected(kernel, "shell") as ask:
            info = await ask("kernel_info_request", {}, FIGURES_LIMIT)
            if isinstance(info, Silent):
                return await self._busy_or_silent(kernel)
            if not isinstance(info, dict):
                return info
            if info.get("implementation") != "ipython":
                return NoAgent(
                    text="Only kernels made with ipykernel can free memory in place.",
                    possible=False,
                )
            content: dict[str, Any] = {
                "code": "",
                "silent": True,
                "store_history": False,
                "allow_stdin": False,
                "stop_on_error": False,
                "user_expressions": {
                    "vram": agent.install_expression(time.time() + START_LIMIT),
                },
            }
            with _ActivityKept(self._kernel_manager, kernel) as activity:
                reply = await ask("execute_request", content, START_LIMIT + LOOK)
                if isinstance(reply, Silent):
                    return await self._busy_or_silent(kernel)
                if not isinstance(reply, dict):
                    return reply
                await activity.settled()
        installed = _install_answer(reply)
        if isinstance(installed, Installed):
            self._installed.add(kernel.provisioner)
        return installed

    async def remedy(self, kernel_id: str, op: Op) -> RemedyDone | Unanswered:
        """Runs ``op`` on the kernel's main thread, if the agent is installed and no cell runs."""
        kernel = self._kernel(kernel_id)
        if kernel is None:
            return Gone()
        if kernel.provisioner not in self._installed:
            return NoAgent(text="This kernel has not been asked yet.", possible=True)
        if kernel.execution_state == "busy":
            return Busy()
        content = {"op": op, "start_before": time.time() + START_LIMIT}
        async with self._connected(kernel, "shell") as ask:
            reply = await ask(agent.MESSAGE_TYPE, content, START_LIMIT + LOOK)
            if isinstance(reply, Silent):
                # Either it has begun and takes its time, or a cell began before it; then its
                # time to start has passed, and it will do nothing when it is reached.
                figures = await self.figures(kernel_id)
                if isinstance(figures, Figures) and figures.running is None:
                    return Busy()
                if isinstance(figures, (NoAgent, Gone)):
                    return figures
                reply = await ask(None, {}, REMEDY_LIMIT - START_LIMIT)
        if not isinstance(reply, dict):
            return reply
        if isinstance(_understood(reply, _Late), _Late):
            return Busy()
        return _understood(reply, RemedyDone)

    # --- messages ------------------------------------------------------------------------

    def _kernel(self, kernel_id: str) -> Any:
        """The kernel's own manager; None if there is none or its process was never started here."""
        if kernel_id not in self._kernel_manager:
            return None
        kernel = self._kernel_manager.get_kernel(kernel_id)
        return None if kernel.provisioner is None else kernel

    async def _busy_or_silent(self, kernel: Any) -> Unanswered:
        """Tells a cell that runs from code that holds Python's lock: control answers or not."""
        async with self._connected(kernel, "control") as ask:
            info = await ask("kernel_info_request", {}, FIGURES_LIMIT)
        return Busy() if isinstance(info, dict) else info

    @asynccontextmanager
    async def _connected(
        self, kernel: Any, channel: Literal["control", "shell"]
    ) -> AsyncIterator[Callable[..., Any]]:
        """A socket of our own for a few requests: cheap, and it can't outlive a restart's ports."""
        client = kernel.client(context=self._context)
        provisioner = kernel.provisioner
        # Not stop_channels(): it would first open the ones that were never opened.
        socket = client.control_channel if channel == "control" else client.shell_channel

        async def ask(
            message_type: str | None, content: dict[str, Any], limit: float
        ) -> dict[str, Any] | Silent | Gone:
            """Sends a request, or with None goes on waiting; the reply's content if it comes."""
            nonlocal awaited
            if message_type is not None:
                message = client.session.msg(message_type, content)
                awaited = message["header"]["msg_id"]
                socket.send(message)
            end = time.monotonic() + limit
            while True:
                left = end - time.monotonic()
                try:
                    reply = await socket.get_msg(timeout=max(0.0, min(LOOK, left)))
                except Empty:
                    if kernel.provisioner is not provisioner or not await kernel.is_alive():
                        return Gone()
                    if left <= 0:
                        return Silent()
                except ValueError:
                    # A signature or format that isn't our kernel's; keep waiting for ours.
                    continue
                except zmq.ZMQError:
                    return Gone(text="The server is shutting down.")
                else:
                    if reply["parent_header"].get("msg_id") == awaited:
                        return dict(reply["content"])

        awaited: str | None = None
        try:
            yield ask
        finally:
            socket.close()


class _ActivityKept:
    """Puts ``last_activity`` back after the install, if nothing else happened meanwhile.

    jupyter_server counts every message of an execute as activity. A silent one without output has
    exactly two, its busy and its idle status; if more were counted, somebody else is active too.
    """

    def __init__(self, kernel_manager: Any, kernel: Any) -> None:
        self._kernel_manager = kernel_manager
        self._kernel = kernel
        self._before = kernel.last_activity
        self._server_before = getattr(kernel_manager, "last_kernel_activity", None)
        self._counted: list[Any] = []
        self._idle = asyncio.Event()

    def __enter__(self) -> _ActivityKept:
        self._kernel.observe(self._count, "last_activity")
        self._kernel.observe(self._state, "execution_state")
        return self

    def __exit__(self, *_: object) -> None:
        self._kernel.unobserve(self._count, "last_activity")
        self._kernel.unobserve(self._state, "execution_state")
        if len(self._counted) == 2 and self._kernel.last_activity is self._counted[-1]:
            self._kernel.last_activity = self._before
            if self._kernel_manager.last_kernel_activity is self._counted[-1]:
                self._kernel_manager.last_kernel_activity = self._server_before

    async def settled(self) -> None:
        """Waits for the idle status, which comes by another socket than the reply."""
        try:
            await asyncio.wait_for(self._idle.wait(), 1.0)
        except (asyncio.TimeoutError, TimeoutError):
            pass

    def _count(self, change: Any) -> None:
        self._counted.append(change["new"])

    def _state(self, change: Any) -> None:
        if change["new"] == "idle":
            self._idle.set()


def _install_answer(reply: dict[str, Any]) -> Installed | Busy | Silent | NoAgent:
    if reply.get("status") == "aborted":
        # The cell before ours failed, and what was queued behind it is dropped.
        return Busy()
    try:
        shown = reply["user_expressions"]["vram"]["data"]["text/plain"]
        answer = msgspec.json.decode(ast.literal_eval(shown))
        if "error" in answer:
            return NoAgent(
                text=f"The kernel refused the code that frees memory ({answer['error']}).",
                possible=True,
            )
        return msgspec.convert(answer, Installed)
    except (KeyError, TypeError, ValueError, SyntaxError):
        return NoAgent(
            text="The kernel did not run the code that frees memory: its Python is older than "
            "3.8 or its namespace is damaged.",
            possible=False,
        )


def _understood(content: dict[str, Any], kind: type[Any]) -> Any:
    """``content`` as ``kind``; a kernel may answer anything, so what isn't it is no answer."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        return Silent(text="The kernel gave an answer that makes no sense; restart it.")


def _sum(parts: Any) -> int | None:
    values = list(parts)
    return None if any(value is None for value in values) else sum(values)
