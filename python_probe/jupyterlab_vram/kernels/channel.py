"""The door into a kernel: installs the agent, asks it for figures, has it run a remedy.

How, and why so (measured with jupyter_server 2.21, ipykernel 6.29 and 7.4): any execute refreshes
the kernel's ``last_activity`` and can flip a running cell's state, so there is exactly one, on the
person's click, never into a busy kernel. It adds handlers for a message type of our own, which the
server is told not to count as activity (``activity.leave_no_trace``).
"""

from __future__ import annotations

import ast
import asyncio
import time
from typing import Any, Literal, TypeVar

import msgspec
import zmq.asyncio

from .. import agent
from .activity import ActivityKept
from .answers import (
    Busy,
    Figures,
    Gone,
    Installed,
    Late,
    NoAgent,
    ParkCheck,
    RemedyDone,
    Scan,
    Silent,
    Unanswered,
)
from .conversation import LOOK, Conversation, pid_of

FIGURES_LIMIT = 1.0
"""Seconds in which a kernel that isn't held up by C code has always answered on control."""
START_LIMIT = 2.0
"""Seconds in which an idle kernel begins with what it is asked to do; a later one is busy."""
REMEDY_LIMIT = 600.0
"""Seconds that a remedy may take: parking copies what may be a large card's whole memory."""

Op = Literal[
    "collect",
    "release-cache",
    "park",
    "restore",
    "unpin-exceptions",
    "unpin-outputs",
    "delete",
    "clear-session",
]
T = TypeVar("T")


class KernelChannel:
    """Talks to the agents in one server's kernels. Belongs to the server's event loop.

    Every method returns a type of ``answers`` for what may happen to a kernel and raises nothing
    for it.
    """

    def __init__(self, kernel_manager: Any) -> None:
        self._kernel_manager = kernel_manager
        self._context = zmq.asyncio.Context()
        self._installed: dict[str, int] = {}
        """Kernel id to the pid of the process that has the agent: a restart makes another."""

    def close(self) -> None:
        """Closes the sockets at once, and cancels whatever still waits for an answer."""
        self._context.destroy(linger=0)

    async def figures(self, kernel_id: str) -> Figures | Silent | NoAgent | Gone:
        """What the frameworks in the kernel hold. Answers while a cell runs, leaves no trace."""
        kernel = self._kernel(kernel_id)
        if isinstance(kernel, (Gone, NoAgent)):
            return kernel
        if self._installed.get(kernel_id) != pid_of(kernel):
            return NoAgent(text="This kernel has not been asked yet.", possible=True)
        with Conversation(kernel, self._context, "control") as conversation:
            content = await conversation.ask(agent.MESSAGE_TYPE, {"op": "figures"}, FIGURES_LIMIT)
        if not isinstance(content, dict):
            return content
        figures = _understood(content, Figures)
        if isinstance(figures, Figures) and figures.version != agent.version():
            self._installed.pop(kernel_id, None)
            return NoAgent(text="The kernel has another version's agent.", possible=True)
        return figures

    async def install(self, kernel_id: str) -> Installed | Unanswered:
        """Puts the agent into an idle ipykernel, or makes sure that it is there.

        Only on a person's click: it is the one thing here that other clients can notice, as a
        kernel that is busy for some milliseconds. ``last_activity`` is put back.
        """
        kernel = self._kernel(kernel_id)
        if isinstance(kernel, (Gone, NoAgent)):
            return kernel
        if self._installed.get(kernel_id) == pid_of(kernel):
            figures = await self.figures(kernel_id)
            if isinstance(figures, Figures):
                return Installed(version=figures.version, pid=figures.pid)
            if not isinstance(figures, NoAgent):
                return figures
        language = kernel.kernel_spec.language
        if language.lower() != "python":
            return NoAgent(
                text="Memory can be freed in place only in Python kernels, and this one's language "
                f"is {language or 'not known'}.",
                possible=False,
            )
        if kernel.execution_state == "busy":
            return Busy()
        pid = pid_of(kernel)
        installed = await self._install(kernel)
        if isinstance(installed, Installed) and pid is not None:
            self._installed[kernel_id] = pid
        return installed

    async def remedy(self, kernel_id: str, op: Op, **arguments: Any) -> RemedyDone | Unanswered:
        """Runs ``op`` on the kernel's main thread, if the agent is installed and no cell runs.

        Args:
            arguments: the operation's own, see the agent's ``handlers.py``.
        """
        return await self._on_main_thread(kernel_id, op, arguments, RemedyDone)

    async def scan(self, kernel_id: str) -> Scan | Unanswered:
        """Who holds the memory inside the kernel; as ``remedy``, and changes nothing."""
        return await self._on_main_thread(kernel_id, "scan", {}, Scan)

    async def park_check(self, kernel_id: str) -> ParkCheck | Unanswered:
        """What parking would move; as ``remedy``, and changes nothing."""
        return await self._on_main_thread(kernel_id, "park-check", {}, ParkCheck)

    async def busy_or_silent(self, kernel_id: str) -> Busy | Silent | NoAgent | Gone:
        """Tells a running cell from code that lets nothing else in: control answers, or not."""
        kernel = self._kernel(kernel_id)
        if isinstance(kernel, (Gone, NoAgent)):
            return kernel
        return await self._busy_or_silent(kernel)

    async def _on_main_thread(
        self, kernel_id: str, op: str, arguments: dict[str, Any], kind: type[T]
    ) -> T | Unanswered:
        kernel = self._kernel(kernel_id)
        if isinstance(kernel, (Gone, NoAgent)):
            return kernel
        if self._installed.get(kernel_id) != pid_of(kernel):
            return NoAgent(text="This kernel has not been asked yet.", possible=True)
        if kernel.execution_state == "busy":
            return Busy()
        content = {**arguments, "op": op, "start_before": time.time() + START_LIMIT}
        with Conversation(kernel, self._context, "shell") as conversation:
            reply = await conversation.ask(agent.MESSAGE_TYPE, content, START_LIMIT + LOOK)
            if isinstance(reply, Silent):
                # Either it has begun and takes its time, or a cell began before it; then its
                # time to start has passed, and it will do nothing when it is reached.
                figures = await self.figures(kernel_id)
                if isinstance(figures, (NoAgent, Gone)):
                    return figures
                waits = isinstance(figures, Figures) and figures.running is None
                # Even then it may have ended while that was asked.
                reply = await conversation.more(LOOK if waits else REMEDY_LIMIT - START_LIMIT)
                if waits and isinstance(reply, Silent):
                    return Busy()
        if not isinstance(reply, dict):
            return reply
        if isinstance(_understood(reply, Late), Late):
            return Busy()
        return _understood(reply, kind)

    def _kernel(self, kernel_id: str) -> Any:
        """The kernel's own manager, or why there is nobody to talk to: a Gone or a NoAgent."""
        if kernel_id not in self._kernel_manager:
            self._installed.pop(kernel_id, None)
            return Gone()
        kernel = self._kernel_manager.get_kernel(kernel_id)
        if pid_of(kernel) is None:
            return NoAgent(
                text="This kernel is not a process of this computer's, so its memory can't be "
                "freed in place.",
                possible=False,
            )
        return kernel

    async def _install(self, kernel: Any) -> Installed | Unanswered:
        # Making it takes a fifth of a second, once.
        await asyncio.to_thread(agent.text)
        with Conversation(kernel, self._context, "shell") as conversation:
            # The server's idle may be wrong (other extensions' requests flip it), so the main
            # thread itself is asked first, by a request that the server doesn't count.
            info = await conversation.ask("kernel_info_request", {}, START_LIMIT)
            if isinstance(info, Silent):
                return await self._busy_or_silent(kernel)
            if not isinstance(info, dict):
                return info
            if info.get("implementation") != "ipython":
                return NoAgent(
                    text="Memory can be freed in place only in kernels made with ipykernel.",
                    possible=False,
                )
            content = {
                "code": "",
                "silent": True,
                "store_history": False,
                "allow_stdin": False,
                "stop_on_error": False,
                "user_expressions": {"vram": agent.install_expression(time.time() + START_LIMIT)},
            }
            with ActivityKept(self._kernel_manager, kernel) as activity:
                reply = await conversation.ask("execute_request", content, START_LIMIT + LOOK)
                if isinstance(reply, Silent):
                    return await self._busy_or_silent(kernel)
                if not isinstance(reply, dict):
                    return reply
                await activity.settled()
        return _install_answer(reply)

    async def _busy_or_silent(self, kernel: Any) -> Busy | Silent | Gone:
        with Conversation(kernel, self._context, "control") as conversation:
            info = await conversation.ask("kernel_info_request", {}, FIGURES_LIMIT)
        return Busy() if isinstance(info, dict) else info


def _install_answer(reply: dict[str, Any]) -> Installed | Busy | NoAgent:
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
            text="The kernel could not run the code that frees memory: its Python is older than "
            "3.8, or what the notebook changed in it stands in the way.",
            possible=False,
        )


def _understood(content: dict[str, Any], kind: type[T]) -> T | Silent:
    """``content`` as ``kind``; a kernel may answer anything, so what isn't it is no answer."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        return Silent(text="The kernel gave an answer that makes no sense. Restart it.")
