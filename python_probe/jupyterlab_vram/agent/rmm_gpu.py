"""RMM, which cuDF and other RAPIDS libraries take their memory from. Runs in the user's kernel, see
``handlers.py``.

RMM counts only where its user put a counting resource into the chain. Nothing gives a pool back
while its buffers are alive: ``rmm.reinitialize`` would free them under their users.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "rmm"
KEEPS = (
    "RMM's pool keeps what it once took until the process ends: what is deleted here is free for "
    "this notebook's next buffers, and other programs gain nothing."
)

POOLLESS = ("CudaMemoryResource", "ManagedMemoryResource")
"""Resources that give back to the driver whatever is dropped."""


def loaded() -> Any:
    rmm = sys.modules.get("rmm")
    # Half imported, it has no resources yet.
    ready = hasattr(getattr(rmm, "mr", None), "get_per_device_resource")
    return rmm if ready and sibling("cuda_driver").contexts() else None


def devices(rmm: Any) -> list[dict[str, Any]]:
    driver = sibling("cuda_driver")
    found = []
    for index in driver.contexts():
        chain = _chain(rmm.mr.get_per_device_resource(index))
        live, peak = _counted(chain)
        cached = None
        if "PoolMemoryResource" in chain:
            size = chain["PoolMemoryResource"].pool_size()
            cached = None if live is None else max(0, size - live)
        elif list(chain)[-1] in POOLLESS:
            cached = 0
        limiting = chain.get("LimitingResourceAdaptor")
        found.append(
            {
                "index": index,
                "uuid": driver.device_uuid(index),
                "live": live,
                "cached": cached,
                "releasable": 0,
                "context": None,
                "peak": peak,
                "limit": None if limiting is None else limiting.get_allocation_limit(),
            }
        )
    return found


def keeps(rmm: Any) -> bool:
    """Whether any device's memory comes from a pool, or from what isn't known to be none."""
    contexts = sibling("cuda_driver").contexts()
    chains = [_chain(rmm.mr.get_per_device_resource(index)) for index in contexts]
    return any(
        name not in POOLLESS and not name.endswith("ResourceAdaptor")
        for chain in chains
        for name in chain
    )


def _chain(resource: Any) -> dict[str, Any]:
    """A resource and those that it takes from in turn, by the names of their types."""
    chain = {}
    while resource is not None:
        chain[type(resource).__name__] = resource
        resource = getattr(resource, "upstream_mr", None)
    return chain


def _counted(chain: dict[str, Any]) -> tuple[int | None, int | None]:
    """Bytes in use and their peak, by whichever resource counts."""
    if "StatisticsResourceAdaptor" in chain:
        counts = chain["StatisticsResourceAdaptor"].allocation_counts
        if not isinstance(counts, dict):  # from 24.06 on
            counts = vars(counts)
        return counts["current_bytes"], counts["peak_bytes"]
    for name in ("TrackingResourceAdaptor", "LimitingResourceAdaptor"):
        if name in chain:
            return chain[name].get_allocated_bytes(), None
    return None, None


def release(rmm: Any) -> None:
    """Nothing: see above."""


# --- who holds it -------------------------------------------------------------------------------


def is_array(rmm: Any, cls: type) -> bool:
    return issubclass(cls, rmm.DeviceBuffer)


def storages(rmm: Any, obj: Any) -> list[tuple[int, int, int]]:
    contexts = sibling("cuda_driver").contexts()
    size = rmm.DeviceBuffer.capacity(obj)
    # A buffer doesn't tell its GPU; with several in use, it isn't known.
    if not size or len(contexts) != 1:
        return []
    return [(rmm.DeviceBuffer.ptr.__get__(obj), size, contexts[0])]


def describe(rmm: Any, obj: Any) -> dict[str, Any]:
    return {"kind": type(obj).__name__, "shape": None, "dtype": None}
