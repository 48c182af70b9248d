"""vLLM. Runs in the user's kernel, see ``handlers.py``.

Its memory is torch's, in the kernel or in a child process; only the end of the engine returns it,
and ``del llm`` often doesn't end it. An engine made with ``enable_sleep_mode=True`` can sleep: its
weights go to host RAM, its cache is forgotten. That is vLLM's own way to park.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

NAME = "vllm"
KEEPS = (
    "vLLM takes most of the GPU for its cache and keeps it until its engine ends; deleting the LLM "
    "often doesn't end it. End the engine's process, or restart the kernel."
)
_CHILDREN = ("EngineCore", "VllmWorker")


def loaded() -> Any:
    """Once an engine runs, in this process or in a child of its."""
    runs = _children() or _world() is not None
    return sys.modules["vllm"] if runs else None


def _children() -> list[Any]:
    processes = sys.modules.get("multiprocessing.process")
    children = getattr(processes, "_children", ())
    return [child for child in list(children) if child.name.startswith(_CHILDREN)]


def _world() -> Any:
    """The group of workers that this process itself is one of, else None."""
    state = sys.modules.get("vllm.distributed.parallel_state")
    return getattr(state, "_WORLD", None)


def devices(vllm: Any) -> list[dict[str, Any]]:
    """Nothing is known: in this process the memory is in torch's figures, in a child the driver
    tells it."""
    index = getattr(getattr(_world(), "device", None), "index", None)
    unknown = dict.fromkeys(("uuid", "live", "cached", "context", "peak", "limit"))
    return [{"index": index or 0, "releasable": 0, **unknown}]


def release(vllm: Any) -> None:
    """Nothing: the cache is part of the engine."""


# --- its own way to park ------------------------------------------------------------------------


def park_refused(vllm: Any) -> str | None:
    """Why its engines can't sleep, a sentence; None if all can."""
    engines = _engines()
    if not engines:
        return (
            "vLLM's engine can't be put to sleep: no LLM object refers to it (an AsyncLLM sleeps "
            "by its own sleep() only)."
        )
    if not all(_sleeps(engine) for engine in engines):
        return "vLLM's engine was made without enable_sleep_mode=True, so that it can't sleep."
    return None


def park(vllm: Any) -> int:
    """Put every engine to sleep; how many. What they forget: requests under way, cached prefixes.

    Raises what vLLM raises; the engines that sleep by then sleep on until ``restore``.
    """
    engines = [engine for engine in _engines() if _sleeps(engine)]
    for engine in engines:
        engine.sleep(level=1)
    return len(engines)


def restore(vllm: Any) -> int:
    """Wake every engine; how many. Raises what vLLM raises, such as for want of memory."""
    engines = [engine for engine in _engines() if _sleeps(engine)]
    for engine in engines:
        engine.wake_up()
    return len(engines)


def _engines() -> list[Any]:
    llm = getattr(sys.modules.get("vllm.entrypoints.llm"), "LLM", None)
    if llm is None:
        return []
    bases = type.__dict__["__mro__"].__get__  # the class's own, whatever its metaclass says
    return [thing for thing in gc.get_objects() if llm in bases(type(thing))]


def _sleeps(engine: Any) -> bool:
    """Whether it was made so that it can: without, vLLM only fails once it is asked to."""
    config = getattr(engine.llm_engine, "model_config", None)
    return bool(getattr(config, "enable_sleep_mode", False))
