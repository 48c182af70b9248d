"""The simulated GPU's arrays. Runs in the user's kernel, see ``handlers.py``."""

from __future__ import annotations

import sys
from typing import Any

NAME = "simulated"


def loaded() -> Any:
    simulated = sys.modules.get("jupyterlab_vram.simulated")
    # Half imported, it has no is_initialized yet.
    initialized = getattr(simulated, "is_initialized", None)
    return simulated if initialized is not None and initialized() else None


def devices(simulated: Any) -> list[dict[str, Any]]:
    found = []
    for index in range(simulated.device_count()):
        live = simulated.memory_allocated(index)
        cached = simulated.memory_reserved(index) - live
        split = simulated.memory_stats(index).get("inactive_split_bytes.all.current", 0)
        found.append(
            {
                "index": index,
                "uuid": simulated.device_uuid(index),
                "live": live,
                "cached": cached,
                "releasable": cached - split,
                "context": simulated.context_size(index),
                "peak": simulated.max_memory_allocated(index),
            }
        )
    return found


def release(simulated: Any) -> None:
    simulated.empty_cache()


def is_array(simulated: Any, cls: type) -> bool:
    return issubclass(cls, (simulated.Array, simulated.Storage))


def storages(simulated: Any, obj: Any) -> list[tuple[int, int, int]]:
    """``[(identity, bytes, device index)]``."""
    storage = storage_of(simulated, obj)
    return [] if storage is None else [(id(storage), storage.allocated, storage.device)]


def storage_of(simulated: Any, obj: Any) -> Any:
    """None without memory, and while another thread is about to make it."""
    storage = vars(obj).get("storage") if issubclass(type(obj), simulated.Array) else obj
    return storage if storage is not None and vars(storage).get("allocated") else None


def describe(simulated: Any, obj: Any) -> dict[str, Any]:
    if not issubclass(type(obj), simulated.Array):
        return {"kind": "Storage", "shape": None, "dtype": None}
    return {"kind": "Array", "shape": list(obj.shape), "dtype": obj.dtype}
