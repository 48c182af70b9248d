"""Answers ``vram_request`` inside the kernel. Runs there, see ``__init__.py``.

A request's content is ``{"op": str, "start_before": seconds since the epoch, optional}`` and the
operation's own arguments. The reply's content always has ``version``, ``op``, ``ok`` and ``text``
(a sentence or None), ``seconds`` if the operation ran, and ``late`` if it came too late to. The
rest is the operation's own, see ``OPERATIONS``; ``kernels/answers.py`` has the types.

Operations on the control channel also run while a cell does, so they only read, in at most 50 ms.
Those on the shell channel run on the main thread and never during a cell.

A framework's file (an adapter) has:

- ``NAME``, and ``loaded()``: the framework if this process already uses a GPU through it, else
  None. It must not touch the GPU.
- ``devices(framework)``: ``[{"index", "uuid", "live", "cached", "releasable", "context", "peak",
  "limit"}]``, bytes as integers, None where the framework can't tell. ``releasable`` is the part of
  ``cached`` that the driver gets back on release: whole segments only.
- ``release(framework)``: gives cached blocks back to the driver.
- where it can: ``is_array(framework, cls)``, ``storages(framework, obj)`` (``[(key, bytes, device
  index)]``, each storage behind an array once), ``describe(framework, obj)`` (``{"kind", "shape",
  "dtype"}``) and ``hidden(framework)`` (``[{"label", "kind", "bytes", "device"}]``, memory that no
  Python object holds; with a ``key`` as ``storages`` has it if it is a part of ``live``);
- for what lies in C: ``inner(framework, obj)`` (``[(name, array)]``, which an array refers to
  there), ``uses(framework, obj)`` (how often it is referred to there), ``has_more(framework, obj)``
  (whether it keeps memory that can't be seen), ``memory(framework)`` (None, or what has ``sizes``,
  a storage's key to the bytes that were given for it, and ``returned(keys)``, the bytes that the
  driver gets back once these are free);
- ``MODELS`` and ``OPTIMIZERS``: the base classes of what is shown as one thing, "module.Class";
- where there is one: ``clear_session(framework)``, and ``SESSION``, what that loses;
- where its memory stays with the process: ``KEEPS``, a sentence that says so; and where that
  depends on what the user has set, ``keeps(framework)``, whether it does.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import time
from contextlib import contextmanager
from typing import Any, Iterator  # noqa: UP035 - Python 3.8

OPERATIONS = {
    "figures": ("handlers", "figures", "control"),
    "collect": ("handlers", "collect", "shell"),
    "release-cache": ("handlers", "release_cache", "shell"),
    "clear-session": ("handlers", "clear_session", "shell"),
    "scan": ("holders", "scan", "shell"),
    "unpin-exceptions": ("unpin", "exceptions", "shell"),
    "unpin-outputs": ("unpin", "outputs", "shell"),
    "delete": ("variables", "delete", "shell"),
    "park-check": ("park", "check", "shell"),
    "park": ("park", "park", "shell"),
    "restore": ("park", "restore", "shell"),
}
"""Operation to file, function and channel. The function gets the agent and the request."""

READS = {"figures", "scan", "park-check"}
"""Operations that change nothing. The others' replies have ``before`` and ``after``, figures as
``frameworks`` of ``figures`` has them."""

DROPS = {"clear-session", "unpin-exceptions", "unpin-outputs", "delete"}
"""Operations after which the garbage is collected and the caches are released, so that the
driver's figure shows what they gave back."""


def sentence(error: BaseException) -> str:
    """What went wrong, short. No traceback: it would keep the frames' tensors alive."""
    try:
        text = f"{type(error).__name__}: {error}"[:300]
    except Exception:  # noqa: BLE001 - an error of the user's, whose __str__ fails
        text = "an error without words"
    # What no message can carry would leave the request without an answer.
    return text.encode(errors="replace").decode()


class Agent:
    """One a kernel.

    Attributes: ``kernel`` (ipykernel's), ``shell`` (IPython's), ``running`` (message id of the
    operation under way on the shell channel, or None), ``kept`` (what outlives a request), ``size``
    (bytes of its text).
    """

    def __init__(
        self,
        kernel: Any,
        modules: Any,
        frameworks: list[tuple[str, str]],
        version: str,
        reply_type: str,
    ) -> None:
        self.kernel = kernel
        self.shell = kernel.shell
        self.version = version
        self.running: str | None = None
        self.kept: dict[str, Any] = {}
        self.size = sum(map(sys.getsizeof, modules.sources.values()))
        self._modules = modules
        self._frameworks = frameworks
        self._reply_type = reply_type

    def module(self, name: str) -> Any:
        """Another of the agent's files."""
        return self._modules[name]

    # --- the two doors -------------------------------------------------------------------

    def on_control(self, stream: Any, ident: Any, parent: Any) -> None:
        self._reply(stream, ident, parent, "control")

    def on_shell(self, stream: Any, ident: Any, parent: Any) -> None:
        self.running = parent["header"]["msg_id"]
        try:
            self._reply(stream, ident, parent, "shell")
        finally:
            self.running = None

    def _reply(self, stream: Any, ident: Any, parent: Any, door: str) -> None:
        request = parent["content"]
        op = str(request.get("op"))
        content: dict[str, Any] = {"op": op, "version": self.version, "ok": False, "text": None}
        start_before = request.get("start_before")
        if start_before is not None and time.time() > start_before:
            content["late"] = True
            content["text"] = "The kernel was busy until the request had run out of time."
        elif OPERATIONS.get(op, ("", "", ""))[2] != door:
            content["text"] = f"This agent doesn't know the operation {op[:50]!r} here."
        else:
            started = time.perf_counter()
            try:
                content["ok"] = True
                with _unwatched():
                    content.update(self._run(op, request))
            except BaseException as error:  # noqa: BLE001 - an interrupt, or SystemExit from a finalizer
                content["ok"] = False
                content["text"] = sentence(error)
            content["seconds"] = time.perf_counter() - started
        self.kernel.session.send(stream, self._reply_type, content, parent=parent, ident=ident)

    def _run(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        if "parked" in self.kept and op not in {*READS, "park", "restore"}:
            return {"ok": False, "text": "This notebook's GPU data are parked. Restore them first."}
        file, function, _ = OPERATIONS[op]
        operation = getattr(self.module(file), function)
        if op in READS:
            return dict(operation(self, request))
        before = self.measure()[0]
        result = operation(self, request)
        if op in DROPS:
            gc.collect()
            # What the operation had to say is worth more than that a cache stayed.
            release = release_cache(self, request)
            if not release.get("ok", True):
                result.setdefault("text", release["text"])
        return {"before": before, **result, "after": self.measure()[0]}

    # --- what the operations work with ------------------------------------------------------

    def frameworks(self) -> list[tuple[Any, Any]]:
        """Each framework that this process already uses a GPU by, after its adapter.

        Raises what an adapter raises that can't tell.
        """
        found = []
        for file, name in self._frameworks:
            if sys.modules.get(name) is not None:
                adapter = self.module(file)
                framework = adapter.loaded()
                if framework is not None:
                    found.append((adapter, framework))
        return found

    def measure(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What each framework in use says of itself, and why where one can't say."""
        frameworks: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for file, name in self._frameworks:
            if sys.modules.get(name) is None:
                continue
            adapter = self.module(file)
            try:
                framework = adapter.loaded()
                if framework is not None:
                    frameworks[adapter.NAME] = {
                        "devices": adapter.devices(framework),
                        "keeps": _keeps(adapter, framework),
                        "session": getattr(adapter, "SESSION", None),
                    }
            except Exception as error:  # noqa: BLE001
                problems[adapter.NAME] = sentence(error)
        return frameworks, problems


@contextmanager
def _unwatched() -> Iterator[None]:
    """No tracer or profiler of the user's sees what is done here, nor makes it slow."""
    watchers: list[tuple[Any, Any]]
    watchers = [(sys.settrace, sys.gettrace()), (sys.setprofile, sys.getprofile())]
    # A debugger has put its own function in place of settrace.
    watchers = [(turn, by) for turn, by in watchers if by and type(turn) is type(id)]
    for turn, _ in watchers:
        turn(None)
    try:
        yield
    finally:
        for turn, by in watchers:
            turn(by)


def _keeps(adapter: Any, framework: Any) -> str | None:
    keeps = not hasattr(adapter, "keeps") or adapter.keeps(framework)
    return getattr(adapter, "KEEPS", None) if keeps else None


def figures(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    """``pid``, ``hostname``, ``running``, ``frameworks``, ``problems``, ``parked`` (bytes), and
    ``cost`` (bytes of the agent's own text that stay in this process)."""
    frameworks, problems = agent.measure()
    return {
        "pid": os.getpid(),
        "hostname": socket.gethostname(),
        "running": agent.running,
        "frameworks": frameworks,
        "problems": problems,
        "parked": agent.kept.get("parked_bytes"),
        "cost": agent.size,
    }


def collect(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    gc.collect()
    return {}


def release_cache(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    return _each(agent, "release")


def clear_session(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    return _each(agent, "clear_session")


def _each(agent: Agent, function: str) -> dict[str, Any]:
    """Call an adapter's function wherever there is one; a failure is told, and the rest done."""
    problems = []
    for adapter, framework in agent.frameworks():
        if hasattr(adapter, function):
            try:
                getattr(adapter, function)(framework)
            except Exception as error:  # noqa: BLE001
                problems.append(f"{adapter.NAME}: {sentence(error)}")
    return {"ok": False, "text": "; ".join(problems)} if problems else {}
