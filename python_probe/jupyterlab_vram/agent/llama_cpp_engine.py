"""llama.cpp (llama-cpp-python). Runs in the user's kernel, see ``handlers.py``.

It is recognised, and that is all: its weights and its cache are C++'s own, and it counts neither.
"""

from __future__ import annotations

import sys
from typing import Any

NAME = "llama.cpp"
MODULE = "llama_cpp.llama"
KEEPS = (
    "llama.cpp holds a model's weights and its cache until the model is closed (its close()), its "
    "last variable is deleted, or the process ends; nothing else returns them."
)


def loaded() -> Any:
    """Once a model was loaded by a build that can use a GPU."""
    llama_cpp = sys.modules.get("llama_cpp")
    model = getattr(sys.modules[MODULE], "Llama", None)
    if llama_cpp is None or model is None or not vars(model).get(_USED):
        return None
    can = getattr(llama_cpp, "llama_supports_gpu_offload", None)  # from 0.2.29 on
    return llama_cpp if can is None or can() else None


_USED = "_Llama__backend_initialized"


def devices(llama_cpp: Any) -> list[dict[str, Any]]:
    unknown = dict.fromkeys(("uuid", "live", "cached", "context", "peak", "limit"))
    return [{"index": 0, "releasable": 0, **unknown}]


def release(llama_cpp: Any) -> None:
    """Nothing: it has no cache of freed memory."""
