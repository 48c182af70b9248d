"""CuPy on CUDA. Runs in the user's kernel, see ``handlers.py``.

CuPy's pools answer for the GPU that is current in the thread that asks, and making one current
makes a context there if it has none. So only GPUs with a context are asked, each by a thread of its
own: no thread of the user's changes its GPU, nor is one set back to a GPU without a context.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "cupy"


def loaded() -> Any:
    cupy = sys.modules.get("cupy")
    # Half imported, it has no pool yet.
    ready = hasattr(cupy, "get_default_memory_pool")
    return cupy if ready and sibling("cuda_driver").contexts() else None


def devices(cupy: Any) -> list[dict[str, Any]]:
    driver = sibling("cuda_driver")
    pools, known = _pools(cupy)
    found = []
    for index in driver.contexts():
        used, total, limit = _on(
            cupy,
            index,
            lambda: [
                sum(getattr(pool, figure)() for pool in pools)
                for figure in ("used_bytes", "total_bytes", "get_limit")
            ],
        )
        found.append(
            {
                "index": index,
                "uuid": driver.device_uuid(index),
                "live": used if known else None,
                # A cell may have allocated between the questions.
                "cached": max(0, total - used),
                # A pool cuts its blocks up, gives back whole ones only, and doesn't tell which.
                "releasable": None if used else total,
                "context": None,
                "peak": None,
                "limit": limit or None,
            }
        )
    return found


def _pools(cupy: Any) -> tuple[list[Any], bool]:
    """CuPy's pools in use, and whether all that CuPy takes comes out of them, or of RMM's."""
    pools = [cupy.get_default_memory_pool()]
    allocator = cupy.cuda.get_allocator()
    pool = getattr(allocator, "__self__", None)
    kinds = [getattr(cupy.cuda, name, None) for name in ("MemoryPool", "MemoryAsyncPool")]
    if type(pool) in kinds:
        return ([*pools, pool] if pool is not pools[0] else pools), True
    return pools, getattr(allocator, "__module__", None) == "rmm.allocators.cupy"


def _on(cupy: Any, index: int, ask: Callable[[], Any]) -> Any:
    """What ``ask`` returns in a thread whose GPU is ``index``; passes on what it raises."""
    answers: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            cupy.cuda.runtime.setDevice(index)
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            errors.append(error.with_traceback(None))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]


def release(cupy: Any) -> None:
    pools, _ = _pools(cupy)
    for index in sibling("cuda_driver").contexts():
        _on(cupy, index, lambda: [pool.free_all_blocks() for pool in pools])
    cupy.get_default_pinned_memory_pool().free_all_blocks()


# --- who holds it -------------------------------------------------------------------------------


def is_array(cupy: Any, cls: type) -> bool:
    return issubclass(cls, cupy.ndarray)


def storages(cupy: Any, obj: Any) -> list[tuple[int, int, int]]:
    """The block of the pool that it is in; of memory that another framework owns, nothing."""
    memory = cupy.ndarray.data.__get__(obj).mem
    if type(memory).__name__ == "UnownedMemory" or not memory.size:
        return []
    return [(memory.ptr, memory.size, memory.device_id)]


def describe(cupy: Any, obj: Any) -> dict[str, Any]:
    return {
        "kind": type(obj).__name__,
        "shape": list(cupy.ndarray.shape.__get__(obj)),
        "dtype": str(cupy.ndarray.dtype.__get__(obj)),
    }
