"""TensorFlow, with Keras 2 and 3. Runs in the user's kernel, see ``handlers.py``.

TensorFlow tells what its tensors take, not how much it has reserved for its pool, and nothing of
sessions in the style of TensorFlow 1: both are the driver's to tell. Asking it initialises it, so
it is asked only once that has happened.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "tensorflow"
MODULE = "tensorflow.python.eager.context"
# Keras 3's, and those that are TensorFlow's, as Keras 2's are.
MODELS = ("keras.src.layers.layer.Layer", "tensorflow.python.module.module.Module")
OPTIMIZERS = (
    "keras.src.optimizers.base_optimizer.BaseOptimizer",
    "keras.src.optimizers.optimizer._BaseOptimizer",
    "tf_keras.src.optimizers.optimizer._BaseOptimizer",
)
KEEPS = (
    "TensorFlow keeps what it once took until its process ends: what is deleted here is free for "
    "this notebook's next tensors, and other programs gain nothing."
)
SESSION = (
    "Keras forgets its graph, the numbers in its layers' names and the functions that it compiled; "
    "models and variables stay, and so does TensorFlow's memory."
)


def loaded() -> Any:
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow if tensorflow is not None and _gpus() else None


def _context() -> Any:
    """TensorFlow's own, once it is initialised; to ask by its functions would initialise it."""
    context = vars(sys.modules[MODULE]).get("_context")
    return context if context is not None and vars(context).get("_initialized") else None


def _gpus() -> list[Any]:
    """The devices as the user names them, of which several may be on one card."""
    devices = getattr(_context(), "_logical_devices", None) or ()
    return [device for device in devices if device.device_type == "GPU"]


def devices(tensorflow: Any) -> list[dict[str, Any]]:
    ask = getattr(tensorflow.config.experimental, "get_memory_info", None)  # from 2.5 on
    driver = sibling("cuda_driver")
    found = []
    for gpu, (card, limit) in zip(_gpus(), _cards()):  # noqa: B905 - strict is Python 3.10's
        index = int(gpu.name.rpartition(":")[2])
        told = {} if ask is None else ask(f"GPU:{index}")
        found.append(
            {
                "index": index,
                "uuid": None if card is None else driver.device_uuid(card),
                "live": told.get("current"),
                "cached": None,
                "releasable": 0,
                "context": None,
                "peak": told.get("peak"),
                "limit": limit,
            }
        )
    return found


def _cards() -> list[tuple[int | None, int | None]]:
    """Each device's card, as CUDA counts, and the bytes that it may take where that was set."""
    found: list[tuple[int | None, int | None]] = []
    context = _context()
    divided = vars(context).get("_virtual_device_map") or {}
    for card in vars(context).get("_visible_device_list") or ():
        if card.device_type != "GPU":
            continue
        number = card.name.rpartition(":")[2]
        for part in divided.get(card) or (None,):
            mib = getattr(part, "memory_limit", None)
            limit = None if mib is None else int(mib) << 20
            found.append((int(number) if number.isdigit() else None, limit))
    # Configured in a way that isn't known here: better no card than a wrong one.
    return found if len(found) == len(_gpus()) else [(None, None)] * len(_gpus())


def release(tensorflow: Any) -> None:
    """Nothing: TensorFlow has no such call."""


def clear_session(tensorflow: Any) -> None:
    """Keras's, of each Keras that the process has: the ones that it hasn't are not loaded."""
    names = ["tf_keras.backend", "keras.backend"]
    # TensorFlow carries a third one along, which was the real one before 2.6.
    if not any(name in sys.modules for name in names):
        names = ["tensorflow.python.keras.backend"]
    for name in names:
        keras = sys.modules.get(name)
        if keras is not None:
            keras.clear_session()


# --- who holds it -------------------------------------------------------------------------------


# As the class itself has it: TensorFlow's variables have a metaclass that would ask the user's.
_bases = type.__dict__["__mro__"].__get__


def is_array(tensorflow: Any, cls: type) -> bool:
    return not {_eager_tensor(), _variable()}.isdisjoint(_bases(cls))


def _eager_tensor() -> Any:
    return sys.modules["tensorflow.python.framework.ops"].EagerTensor


def _variable() -> Any:
    return sys.modules["tensorflow.python.ops.resource_variable_ops"].BaseResourceVariable


def storages(tensorflow: Any, obj: Any) -> list[tuple[int, int, int]]:
    """A tensor's address is not told, so that two tensors of one buffer count twice."""
    if _variable() in _bases(type(obj)):
        handle, shape, dtype = (vars(obj).get(name) for name in ("_handle", "_shape", "_dtype"))
        if type(handle) is not _eager_tensor():
            return []  # a graph's
        device = handle.device
    else:
        handle, shape, dtype = obj, obj.shape, obj.dtype
        if dtype == tensorflow.resource:
            return []  # a variable's handle, which is counted with the variable
        device = handle.backing_device
    kind, _, index = device.rpartition("/device:")[2].partition(":")
    count = None if shape is None else shape.num_elements()
    if kind != "GPU" or not count:
        return []
    return [(id(handle), count * dtype.size, int(index))]


def describe(tensorflow: Any, obj: Any) -> dict[str, Any]:
    variable = _variable() in _bases(type(obj))
    shape = vars(obj).get("_shape") if variable else obj.shape
    dtype = vars(obj).get("_dtype") if variable else obj.dtype
    return {
        "kind": type(obj).__name__,
        "shape": None if shape is None else shape.as_list(),
        "dtype": dtype.name,
    }
