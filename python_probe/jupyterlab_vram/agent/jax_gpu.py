"""JAX. Runs in the user's kernel, see ``handlers.py``.

Its backends come to life with the first array or with the first question, so that they are read
from the private table of those that are alive. By default JAX takes three quarters of a GPU at
once; what of it is in use only JAX can tell.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "jax"
# Flax's, Equinox's and Keras's: JAX has none itself.
MODELS = (
    "flax.nnx.module.Module",
    "equinox._module.Module",
    "equinox._module._module.Module",
    "keras.src.layers.layer.Layer",
)
OPTIMIZERS = (
    "flax.nnx.training.optimizer.Optimizer",
    "keras.src.optimizers.base_optimizer.BaseOptimizer",
)
_PLATFORMS = ("cuda", "rocm", "gpu", "oneapi", "sycl")

KEEPS = (
    "JAX keeps its pool until its process ends, and it may have taken most of the GPU at its "
    "start: what is deleted here is free for this notebook's next arrays, and other programs gain "
    "nothing. For the next start: XLA_PYTHON_CLIENT_PREALLOCATE=false."
)


def loaded() -> Any:
    jax = sys.modules["jax"]
    return jax if _clients() else None


def keeps(jax: Any) -> bool:
    return os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "").lower() != "platform"


def _clients() -> list[Any]:
    for name in ("jax._src.xla_bridge", "jax.lib.xla_bridge"):  # the second before 0.2.26
        bridge = sys.modules.get(name)
        if bridge is not None:
            alive = vars(bridge).get("_backends") or {}
            return [client for name, client in list(alive.items()) if name in _PLATFORMS]
    return []


def devices(jax: Any) -> list[dict[str, Any]]:
    driver = sibling("cuda_driver")
    found = []
    arrays = None
    for device, index in _gpus().items():
        told = _stats(device)
        live, pool = told.get("bytes_in_use"), told.get("pool_bytes")
        if live is None:
            arrays = _sizes() if arrays is None else arrays
            live = arrays.get(index, 0)
        found.append(
            {
                "index": index,
                "uuid": driver.device_uuid(index),
                "live": live,
                # Not every allocator counts its pool.
                "cached": None if pool is None or pool < live else pool - live,
                "releasable": 0 if keeps(jax) else None,
                "context": None,
                "peak": told.get("peak_bytes_in_use"),
                "limit": told.get("bytes_limit"),
            }
        )
    return found


def _gpus() -> dict[Any, int]:
    """Devices to their numbers as CUDA counts; JAX's own are unique over all hosts."""
    gpus = {}
    for client in _clients():
        for device in client.local_devices():
            index = getattr(device, "local_hardware_id", None)
            gpus[device] = device.id if index is None else index
    return gpus


def _stats(device: Any) -> dict[str, int]:
    """Empty where the allocator counts nothing, or in a JAX before 0.3.15 that can't be asked."""
    ask = getattr(device, "memory_stats", None)
    return {} if ask is None else ask() or {}


def _sizes() -> dict[int, int]:
    """GPU to bytes of all arrays that are alive there; compiled code's own come on top."""
    gpus = _gpus()
    buffers = {
        address: (size, index)
        for client in _clients()
        for array in client.live_arrays()
        for address, size, index in _buffers(array, gpus)
    }
    sizes: dict[int, int] = {}
    for size, index in buffers.values():
        sizes[index] = sizes.get(index, 0) + size
    return sizes


def release(jax: Any) -> None:
    """Compiled code goes, with the arrays that are constants in it; it is compiled anew."""
    clear = getattr(jax, "clear_caches", None)  # from 0.4.13 on
    if clear is not None:
        clear()


# --- who holds it -------------------------------------------------------------------------------


def is_array(jax: Any, cls: type) -> bool:
    name = "jax._src.array"
    if name in sys.modules:
        return issubclass(cls, sys.modules[name].ArrayImpl)
    # Before 0.4.1 there was a class for each generation of them.
    return cls.__module__.partition(".")[0] in ("jax", "jaxlib") and cls.__name__ in (
        "DeviceArray",
        "_DeviceArray",
    )


def storages(jax: Any, obj: Any) -> list[tuple[int, int, int]]:
    """An array that is spread over several GPUs has a part on each."""
    return [] if obj.is_deleted() else _buffers(obj, _gpus())


def _buffers(array: Any, gpus: dict[Any, int]) -> list[tuple[int, int, int]]:
    found = []
    # Only of several: older JAX keeps the parts that it makes here with the array.
    parts = array._arrays if len(_devices(array)) > 1 else (array,)
    for part in parts:
        (device,) = _devices(part)
        if device in gpus:
            # With the padding of its layout.
            size = part.on_device_size_in_bytes()
            found.append((part.unsafe_buffer_pointer(), size, gpus[device]))
    return found


def _devices(array: Any) -> Any:
    return array.devices() if hasattr(array, "devices") else (array.device(),)


def describe(jax: Any, obj: Any) -> dict[str, Any]:
    return {"kind": "Array", "shape": list(obj.shape), "dtype": str(obj.dtype)}
