"""PyTorch on CUDA. Runs in the user's kernel, see ``handlers.py``.

Only calls that make no CUDA context: ``mem_get_info`` and ``synchronize`` would make one, which
costs hundreds of MiB. The context's own size is the driver's to tell, so it stays None here.
"""

from __future__ import annotations

import sys
from typing import Any

NAME = "torch"


def loaded() -> Any:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    # A half-imported torch (its import under way in a cell) has no is_initialized yet.
    initialized = getattr(cuda, "is_initialized", None)
    return torch if initialized is not None and initialized() else None


def devices(torch: Any) -> list[dict[str, Any]]:
    found = []
    for index in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(index)
        live = stats.get("allocated_bytes.all.current")
        reserved = stats.get("reserved_bytes.all.current")
        cached = None if live is None or reserved is None else reserved - live
        split = stats.get("inactive_split_bytes.all.current")
        found.append(
            {
                "index": index,
                "uuid": uuid(torch, index),
                "live": live,
                "cached": cached,
                "releasable": None if cached is None or split is None else max(0, cached - split),
                "context": None,
                "peak": stats.get("allocated_bytes.all.peak"),
            }
        )
    return found


def uuid(torch: Any, index: int) -> str | None:
    """As the driver spells a whole card's; None before torch 2.4, which doesn't tell."""
    value = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    return None if value is None else f"GPU-{value}"


def release(torch: Any) -> None:
    torch.cuda.empty_cache()
    # Blocks that other processes shared with this one and that nobody uses any more.
    torch.cuda.ipc_collect()
