"""numba.cuda. Runs in the user's kernel, see ``handlers.py``.

Only contexts that numba has already made; its functions to ask would make one. Never
``cuda.close()``: it destroys the context under the whole kernel.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "numba"
MODULE = "numba.cuda.cudadrv.devices"


def loaded() -> Any:
    return sys.modules.get("numba.cuda") if _contexts() else None


def _contexts() -> list[tuple[Any, Any, Any]]:
    """GPU, context and memory manager, where that is numba's own and not RMM's, say."""
    driver = getattr(sys.modules.get("numba.cuda.cudadrv.driver"), "driver", None)
    # Neither in numba's own simulator, nor before the driver was first asked.
    if driver is None or not vars(driver).get("is_initialized"):
        return []
    found = []
    for gpu in sys.modules[MODULE].gpus.lst:
        context = gpu._device.primary_context
        manager = getattr(context, "memory_manager", None)
        if type(manager).__name__ == "NumbaCUDAMemoryManager":
            found.append((gpu, context, manager))
    return found


def devices(numba_cuda: Any) -> list[dict[str, Any]]:
    found = []
    for gpu, _, manager in _contexts():
        # Host memory that is pinned or mapped is in the same table.
        allocations = list(manager.allocations.values())
        pending = int(manager.deallocations._size)
        found.append(
            {
                "index": gpu._device.id,
                "uuid": sibling("cuda_driver").device_uuid(gpu._device.id),
                "live": sum(m.size for m in allocations if type(m).__name__ in _ON_GPU),
                "cached": pending,
                "releasable": pending,
                "context": None,
                "peak": None,
                "limit": None,
            }
        )
    return found


_ON_GPU = ("AutoFreePointer", "ManagedMemory")


def release(numba_cuda: Any) -> None:
    """What is deleted waits in a list until there is enough of it; this empties the list."""
    for gpu, context, manager in _contexts():
        with gpu:
            manager.deallocations.clear()
            context.deallocations.clear()


# --- who holds it -------------------------------------------------------------------------------


def is_array(numba_cuda: Any, cls: type) -> bool:
    return issubclass(cls, sys.modules["numba.cuda.cudadrv.devicearray"].DeviceNDArrayBase)


def storages(numba_cuda: Any, obj: Any) -> list[tuple[int, int, int]]:
    """The whole allocation behind a view; of memory that another framework owns, nothing."""
    pointer = vars(vars(obj)["gpu_data"])
    if "_mem" not in pointer:
        return []
    memory = pointer["_mem"]
    if not memory.size:
        return []
    address = getattr(memory, "device_pointer_value", None)  # from 0.54 on
    if address is None:
        address = memory.device_pointer.value
    return [(address, memory.size, memory.context.device.id)]


def describe(numba_cuda: Any, obj: Any) -> dict[str, Any]:
    told = vars(obj)
    return {
        "kind": type(obj).__name__,
        "shape": list(told["shape"]),
        "dtype": str(told["dtype"]),
    }
