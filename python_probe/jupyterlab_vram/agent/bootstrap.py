"""Installs the agent's handlers in an ipykernel. Runs in the user's kernel, see ``__init__.py``."""

from __future__ import annotations

import base64
import json
import os
import time
import types
import zlib
from typing import Any


class Modules(dict):  # type: ignore[type-arg]  # Python 3.8 has no dict[str, …]
    """The agent's files as modules, each compiled when it is first asked for.

    In nobody's ``sys.modules``: resetting or reloading doesn't reach them, and an import of the
    user's can't meet them. Each finds the others by ``sibling(name)``.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def __missing__(self, name: str) -> Any:
        module = types.ModuleType("jupyterlab_vram_agent_" + name)
        module.__dict__["sibling"] = self.__getitem__
        code = compile(self.sources[name], f"<jupyterlab-vram agent: {name}>", "exec")
        exec(code, module.__dict__)  # noqa: S102
        self[name] = module
        return module


def install(
    packed: str,
    frameworks: list[tuple[str, str]],
    version: str,
    message_type: str,
    reply_type: str,
    start_before: float,
) -> str:
    """JSON: ``{"version", "pid"}``, or ``{"error": a sentence}``.

    Whatever goes wrong becomes a sentence: an exception that reached IPython would be kept in
    ``sys.last_traceback``, and keep alive whatever its frames refer to.
    """
    try:
        if time.time() > start_before:
            raise TimeoutError("the kernel was busy until the request had run out of time")
        kernel = _kernel()
        modules = Modules(json.loads(zlib.decompress(base64.b85decode(packed))))
        agent = modules["handlers"].Agent(kernel, modules, frameworks, version, reply_type)
        kernel.control_handlers[message_type] = agent.on_control
        kernel.shell_handlers[message_type] = agent.on_shell
        answer: dict[str, Any] = {"version": version, "pid": os.getpid()}
    except BaseException as error:  # noqa: BLE001
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    return json.dumps(answer)


def _kernel() -> Any:
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if not hasattr(kernel, "control_handlers") or not hasattr(kernel, "shell_handlers"):
        raise TypeError("this kernel is not an ipykernel, it has no place for message handlers")
    return kernel
