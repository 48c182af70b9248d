"""A stand-in for TensorFlow, whose pool needs a real card: it keeps simulated memory as pools do.

It is not TensorFlow. It has, under TensorFlow's names, only what the agent looks at, so that the UI
tests can show a kernel whose memory stays with its process.
"""

import math
import os
import sys
from types import ModuleType, SimpleNamespace

from jupyterlab_vram.simulated.ledger import Ledger

GIB = 2**30
_ledger = Ledger.open()
_live = 0


class EagerTensor:
    backing_device = "/job:localhost/replica:0/task:0/device:GPU:0"

    def __init__(self, *shape: int) -> None:
        global _live
        self.shape = SimpleNamespace(
            as_list=lambda: list(shape), num_elements=lambda: math.prod(shape)
        )
        self.dtype = SimpleNamespace(name="float32", size=4)
        _live += 4 * math.prod(shape)


class Device:
    device_type = "GPU"

    def __init__(self, name: str) -> None:
        self.name = name


class BaseResourceVariable:
    pass


class Module:
    __module__ = "tensorflow.python.module.module"


class Sequential(Module):
    """A Keras model with one layer of so many GiB."""

    def __init__(self, gib: int) -> None:
        self.weights = [EagerTensor(gib, GIB // 4)]


def preallocate(gib: int) -> None:
    """Take the pool, as TensorFlow does with its first operation."""
    _ledger.charge(os.getpid(), 0, gib * GIB)
    context = SimpleNamespace(
        _initialized=True,
        _logical_devices=[Device("/device:GPU:0")],
        _visible_device_list=[Device("/physical_device:GPU:0")],
        _virtual_device_map={},
    )
    figures = SimpleNamespace(get_memory_info=lambda name: {"current": _live, "peak": _live})
    _install("tensorflow", config=SimpleNamespace(experimental=figures), resource="resource")
    _install("tensorflow.python.eager.context", _context=context)
    _install("tensorflow.python.framework.ops", EagerTensor=EagerTensor)
    _install(
        "tensorflow.python.ops.resource_variable_ops", BaseResourceVariable=BaseResourceVariable
    )
    _install("keras.backend", clear_session=lambda: None)


def _install(name: str, **attributes: object) -> None:
    module = ModuleType(name, __doc__)
    vars(module).update(attributes)
    sys.modules[name] = module
