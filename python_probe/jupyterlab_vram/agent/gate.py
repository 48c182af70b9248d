"""Keeps requests from data that is parked. Runs in the user's kernel.

While the gate is shut every handler of the kernel's is wrapped, on the shell and on the control
channel, subshells included. Requests that touch no user object pass; completion and inspection
are answered with nothing; every other one first has the data brought back. If that can't be done
the request is stopped with a sentence, as a failing cell would be.

Not IPython's ``pre_run_cell``: it can't stop a cell. Not input transformers: they miss expressions,
inspection and comms.
"""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

PASS = {
    "abort_request",
    "comm_info_request",
    "connect_request",
    "create_subshell_request",
    "delete_subshell_request",
    "history_request",
    "interrupt_request",
    "is_complete_request",
    "kernel_info_request",
    "list_subshell_request",
    "shutdown_request",
    "usage_request",
    "vram_request",
}


class Gate:
    """Shut from its making until ``open``.

    Args:
        agent: ``handlers.Agent``.
        bring_back: Brings the data back, after which it opens the gate; None, or a sentence why it
            could not. Called in the thread of the request; waits for its turn.
    """

    def __init__(self, agent: Any, bring_back: Any) -> None:
        self._agent = agent
        self._kernel = agent.kernel
        self._bring_back = bring_back
        self._wrapped: list[tuple[dict[str, Any], str, Any, Any]] = []
        for handlers in (self._kernel.shell_handlers, self._kernel.control_handlers):
            for kind, handler in list(handlers.items()):
                if kind not in PASS:
                    wrapper = self._wrap(kind, handler)
                    self._wrapped.append((handlers, kind, handler, wrapper))
                    handlers[kind] = wrapper

    def open(self) -> None:
        """Everything as it was."""
        for handlers, kind, handler, wrapper in self._wrapped:
            if handlers.get(kind) is wrapper:
                handlers[kind] = handler
        self._wrapped = []

    def _wrap(self, kind: str, handler: Any) -> Any:
        def gated(stream: Any, ident: Any, parent: Any) -> Any:
            content = parent["content"]
            answer = self._answer(kind, content)
            if answer is not None:
                reply = kind.replace("_request", "_reply")
                self._kernel.session.send(stream, reply, answer, parent=parent, ident=ident)
                return None
            if kind == "debug_request" and content.get("command") == "debugInfo":
                # What JupyterLab asks whenever a notebook is opened; it tells breakpoints only.
                return handler(stream, ident, parent)
            problem = self._bring_back()
            if problem is None:
                return handler(stream, ident, parent)
            self._stop(kind, stream, ident, parent, problem)
            return None

        return gated

    def _answer(self, kind: str, content: dict[str, Any]) -> dict[str, Any] | None:
        """The reply to a request that is answered without looking; None if it must be handled."""
        if kind == "complete_request":
            at = content.get("cursor_pos")
            at = len(content["code"]) if at is None else at
            places = {"cursor_start": at, "cursor_end": at}
            return {"status": "ok", "matches": [], "metadata": {}, **places}
        if kind == "inspect_request":
            return {"status": "ok", "found": False, "data": {}, "metadata": {}}
        if kind == "execute_request" and self._is_install(content):
            # Another server, or the same after its restart, puts in what is here already.
            agent = {"version": self._agent.version, "pid": os.getpid()}
            value = {
                "status": "ok",
                "data": {"text/plain": repr(json.dumps(agent))},
                "metadata": {},
            }
            return {
                "status": "ok",
                "execution_count": self._kernel.execution_count,
                "user_expressions": {"vram": value},
                "payload": [],
            }
        return None

    def _is_install(self, content: dict[str, Any]) -> bool:
        expressions = content.get("user_expressions") or {}
        return (
            content.get("code") == ""
            and list(expressions) == ["vram"]
            and self._agent.version in str(expressions["vram"])
        )

    def _stop(self, kind: str, stream: Any, ident: Any, parent: Any, problem: str) -> None:
        """Answer as a failure, in the form that each kind of request has for it."""
        kernel = self._kernel
        content = parent["content"]
        error = {"ename": "Parked", "evalue": problem, "traceback": [f"Parked: {problem}"]}
        if kind == "execute_request":
            self._stop_execute(stream, ident, parent, error)
        elif kind == "debug_request":
            answer = {
                "type": "response",
                "request_seq": content.get("seq"),
                "command": content.get("command"),
                "success": False,
                "message": problem,
            }
            kernel.session.send(stream, "debug_reply", answer, parent=parent, ident=ident)
        elif kind.endswith("_request"):
            reply = kind.replace("_request", "_reply")
            answer = {"status": "error", **error}
            kernel.session.send(stream, reply, answer, parent=parent, ident=ident)
        else:
            # Comms have no replies; who sent it may listen to what comes of it.
            self._publish(error, parent)

    def _stop_execute(self, stream: Any, ident: Any, parent: Any, error: dict[str, Any]) -> None:
        # As ipykernel's execute_request, but that no code ran: the count isn't used up, and
        # nothing enters the history.
        kernel = self._kernel
        content = parent["content"]
        silent = content.get("silent", False)
        if not silent:
            kernel._publish_execute_input(content.get("code"), parent, kernel.execution_count)
            self._publish(error, parent)
        reply = {
            "status": "error",
            **error,
            "execution_count": kernel.execution_count,
            "user_expressions": {},
            "payload": [],
        }
        metadata = kernel.finish_metadata(parent, kernel.init_metadata(parent), reply)
        kernel.session.send(
            stream, "execute_reply", reply, parent=parent, metadata=metadata, ident=ident
        )
        if not silent and content.get("stop_on_error", True):
            if inspect.signature(kernel._abort_queues).parameters:
                kernel._abort_queues(parent["header"].get("subshell_id"))
            else:  # ipykernel 6
                kernel._abort_queues()

    def _publish(self, error: dict[str, Any], parent: Any) -> None:
        kernel = self._kernel
        topic = kernel._topic("error")
        kernel.session.send(kernel.iopub_socket, "error", error, parent=parent, ident=topic)
