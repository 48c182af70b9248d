"""Makes a real JAX without a GPU say that its arrays are on one. A stand-in: see README.

Real are JAX, its arrays, who refers to them, ``live_arrays`` and ``clear_caches``. Simulated are
the backend's name, ``memory_stats`` (what is alive, by the real sizes) and the pool.
"""

import gc
import os
import sys

import jax
import jax.numpy as jnp
from device_memory import Pool
from jax._src import xla_bridge

pool = Pool()
_peak = 0


def install():
    """Initialises JAX, as its first operation does."""
    client = jax.devices()[0].client
    xla_bridge._backends["cuda"] = client
    if os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR") != "platform":
        type(jax.devices()[0]).memory_stats = memory_stats


def _alive():
    kind = sys.modules["jax._src.array"].ArrayImpl
    arrays = [a for a in gc.get_objects() if type(a) is kind and not a.is_deleted()]
    return sum({a.unsafe_buffer_pointer(): a.on_device_size_in_bytes() for a in arrays}.values())


def memory_stats(device):
    alive = _alive()
    return {
        "bytes_in_use": alive,
        "peak_bytes_in_use": max(_peak, alive),
        "pool_bytes": pool.size,
        "bytes_limit": 18 << 30,
    }


def take(mib):
    """An array of so many MiB."""
    global _peak
    made = jnp.zeros(mib << 20, jnp.uint8).block_until_ready()
    _peak = max(_peak, _alive())
    pool.hold(_peak)
    return made
