"""Answers ``vram_request`` inside the kernel. Runs there, see ``__init__.py``.

A request's content is ``{"op": str, "start_before": seconds since the epoch, optional}``. The
reply's content always has ``version``, ``op`` and ``ok``, and ``text`` (a sentence or None). Then:

- ``figures`` (control channel, so also while a cell runs): ``pid``, ``hostname``, ``seconds``,
  ``running`` (the message id of the remedy under way, or None), ``frameworks``, ``problems``
  (framework to sentence, for one that could not be asked).
- ``collect`` and ``release-cache`` (shell channel, so on the main thread and never during a
  cell): ``before``, ``after`` (both as ``frameworks``), ``seconds``, ``late`` (not run because
  it came too late).

``frameworks`` is ``{name: {"devices": [{"index", "uuid", "live", "cached", "releasable", "context",
"peak"}]}}``, bytes as integers, None where the framework can't tell. ``releasable`` is the part of
``cached`` that the driver gets back on release: whole segments only.

A framework's module has: ``NAME``, ``loaded()`` (the framework if this process already uses the
GPU through it, else None), ``devices(framework)`` (the list above; must not touch the GPU) and
``release(framework)`` (gives cached blocks back to the driver).
"""

from __future__ import annotations

import gc
import os
import socket
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def sentence(error: BaseException) -> str:
    """What went wrong, short. No traceback: it would keep the frames' tensors alive."""
    return f"{type(error).__name__}: {error}"[:300]


class Agent:
    def __init__(self, kernel: Any, frameworks: list[Any], version: str, reply_type: str) -> None:
        self.kernel = kernel
        self.frameworks = frameworks
        self.version = version
        self.reply_type = reply_type
        self.running: str | None = None
        self.remedies = {"collect": self.collect, "release-cache": self.release_cache}

    # --- the two doors -------------------------------------------------------------------

    def on_control(self, stream: Any, ident: Any, parent: Any) -> None:
        self.reply(stream, ident, parent, {"figures": self.figures})

    def on_shell(self, stream: Any, ident: Any, parent: Any) -> None:
        self.running = parent["header"]["msg_id"]
        try:
            self.reply(stream, ident, parent, self.remedies)
        finally:
            self.running = None

    def reply(
        self,
        stream: Any,
        ident: Any,
        parent: Any,
        operations: dict[str, Callable[[], dict[str, Any]]],
    ) -> None:
        request = parent["content"]
        op = str(request.get("op"))
        content: dict[str, Any] = {"op": op, "version": self.version, "ok": False, "text": None}
        start_before = request.get("start_before")
        if start_before is not None and time.time() > start_before:
            content["late"] = True
            content["text"] = "The kernel was busy until the request had run out of time."
        elif op not in operations:
            content["text"] = f"This agent doesn't know the operation {op[:50]!r} here."
        else:
            started = time.perf_counter()
            try:
                content["ok"] = True
                content.update(operations[op]())
            except BaseException as error:  # noqa: BLE001 - an interrupt, or SystemExit from a finalizer
                content["ok"] = False
                content["text"] = sentence(error)
            content["seconds"] = time.perf_counter() - started
        self.kernel.session.send(stream, self.reply_type, content, parent=parent, ident=ident)

    # --- operations ----------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        frameworks, problems = self.measure()
        return {
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "running": self.running,
            "frameworks": frameworks,
            "problems": problems,
        }

    def collect(self) -> dict[str, Any]:
        before = self.measure()[0]
        gc.collect()
        return {"before": before, "after": self.measure()[0]}

    def release_cache(self) -> dict[str, Any]:
        before = self.measure()[0]
        problems = []
        for module in self.frameworks:
            framework = module.loaded()
            if framework is None:
                continue
            try:
                module.release(framework)
            except Exception as error:  # noqa: BLE001
                problems.append(f"{module.NAME}: {sentence(error)}")
        result: dict[str, Any] = {"before": before, "after": self.measure()[0]}
        if problems:
            result["ok"] = False
            result["text"] = "; ".join(problems)
        return result

    def measure(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What each framework in use says of itself, and why where one can't say."""
        frameworks: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for module in self.frameworks:
            try:
                framework = module.loaded()
                if framework is not None:
                    frameworks[module.NAME] = {"devices": module.devices(framework)}
            except Exception as error:  # noqa: BLE001
                problems[module.NAME] = sentence(error)
        return frameworks, problems
