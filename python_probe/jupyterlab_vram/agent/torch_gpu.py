"""PyTorch on CUDA, ROCm, XPU or MPS. Runs in the user's kernel, see ``handlers.py``.

Only calls that make no context: ``mem_get_info`` and ``synchronize`` would make one, which costs
hundreds of MiB. The context's own size is the driver's to tell, so it stays None here.

No code of the user's runs when a tensor is looked at: subclasses see every ordinary attribute and
call (``__torch_function__``, ``__torch_dispatch__``), so torch's own descriptors are called, with
those turned off. What an older torch can't tell is None.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


NAME = "torch"
SESSION = "What torch.compile made is compiled anew when it is next called."
MODELS = ("torch.nn.modules.module.Module",)
OPTIMIZERS = ("torch.optim.optimizer.Optimizer",)

_NESTING = 4
"""Wrapper tensors within wrapper tensors that are looked into."""


def loaded() -> Any:
    torch = sys.modules.get("torch")
    return torch if _backend(torch) else None


def _backend(torch: Any) -> str | None:
    """The kind of GPU that this process already uses; a build of torch has one at most."""
    for kind in ("cuda", "xpu"):
        # A half-imported torch (its import under way in a cell) has no is_initialized yet.
        initialized = getattr(getattr(torch, kind, None), "is_initialized", None)
        if initialized is not None and initialized():
            return kind
    c = getattr(torch, "_C", None)
    if getattr(c, "_has_mps", False):
        used = getattr(c, "_accelerator_isAllocatorInitialized", None)
        if used is not None and used():
            return "mps"
    return None


# --- figures ------------------------------------------------------------------------------------


def devices(torch: Any) -> list[dict[str, Any]]:
    kind = _backend(torch)
    if kind == "mps":
        live = torch.mps.current_allocated_memory()
        # Metal's figure has the system's own working memory in it as well.
        row = _row(0, live=live, cached=torch.mps.driver_allocated_memory() - live)
        return [row]
    gpu = getattr(torch, str(kind))
    figures = [gpu.memory_stats(index) for index in range(gpu.device_count())]
    allocator = sibling("torch_segments")
    told = kind != "cuda" or not allocator.are_needed(torch, figures)
    pages = None if told else allocator.releasable(torch)
    found = []
    for index, stats in enumerate(figures):
        live = stats.get("allocated_bytes.all.current")
        reserved = stats.get("reserved_bytes.all.current")
        found.append(
            _row(
                index,
                uuid=_uuid(torch, gpu, index),
                live=live,
                cached=None if live is None or reserved is None else reserved - live,
                releasable=_unsplit(stats) if pages is None else pages.get(index, 0),
                peak=stats.get("allocated_bytes.all.peak"),
                limit=_limit(torch, index) if kind == "cuda" and reserved else None,
            )
        )
    return found


def _row(index: int, **known: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(
        ("uuid", "live", "cached", "releasable", "context", "peak", "limit"), None
    )
    return {"index": index, **unknown, **known}


def _uuid(torch: Any, gpu: Any, index: int) -> str | None:
    """As the driver spells it; None with older versions, which don't tell."""
    properties = gpu.get_device_properties(index)
    value = getattr(properties, "uuid", None)
    if value is None:
        return None
    if torch.version.hip:
        # HIP's sixteen bytes are the text that follows "GPU-".
        return "GPU-" + bytes(value.bytes).decode("ascii")
    if gpu is not torch.cuda:
        return str(value)
    return ("MIG-" if " MIG " in properties.name else "GPU-") + str(value)


def _limit(torch: Any, index: int) -> int | None:
    """What ``set_per_process_memory_fraction`` allows, in bytes; None where nothing was set.

    Only for a device that has a context, since older versions ask the GPU for its size; and so that
    the device that they choose for it doesn't stay chosen.
    """
    ask = getattr(torch.cuda, "get_per_process_memory_fraction", None)
    if ask is None:
        return None
    with torch.cuda.device(index):
        fraction = ask(index)
    if fraction >= 1.0:
        return None
    return int(fraction * torch.cuda.get_device_properties(index).total_memory)


def _unsplit(stats: dict[str, int]) -> int | None:
    """Bytes of segments of which nothing is in use."""
    parts = [
        stats.get(f"{name}.all.current")
        for name in ("reserved_bytes", "active_bytes", "inactive_split_bytes")
    ]
    if None in parts:
        return None
    reserved, active, split = parts
    return max(0, reserved - active - split)  # type: ignore[operator]


def release(torch: Any) -> None:
    kind = _backend(torch)
    getattr(torch, str(kind)).empty_cache()
    if kind == "cuda":
        # Blocks that other processes shared with this one and that nobody uses any more.
        torch.cuda.ipc_collect()


def clear_session(torch: Any) -> None:
    """Forget compiled code, and the matrix libraries' workspaces (8 to 32 MiB a stream).

    The workspaces are no part of ``release``: a CUDA graph may have kept the address of one.
    """
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()
        gc.collect()
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear is not None and not has_graphs(torch, sibling("torch_segments").segments(torch)):
        clear()


def has_graphs(torch: Any, segments: list[dict[str, Any]]) -> bool:
    """Whether there are CUDA graphs, or memory in private pools."""
    if any(map(sibling("torch_segments").is_private, segments)):
        return True
    # One that needed no memory of its own has no pool to be seen.
    graph = torch.cuda.CUDAGraph
    return any(issubclass(type(thing), graph) for thing in gc.get_objects())


# --- who holds it -------------------------------------------------------------------------------


def is_array(torch: Any, cls: type) -> bool:
    return issubclass(cls, _types(torch))


def _types(torch: Any) -> tuple[type, ...]:
    # Not before torch 2.0, whose storages have a class for each type of number.
    untyped = getattr(torch, "UntypedStorage", None)
    return (torch.Tensor,) if untyped is None else (torch.Tensor, untyped)


def storages(torch: Any, obj: Any) -> list[tuple[int, int, int]]:
    """``[(address, bytes, device index)]`` on the GPU; a storage behind several parts once."""
    return [place[:3] for place in places(torch, obj)]


def places(torch: Any, obj: Any) -> list[tuple[int, int, int, Any]]:
    """As ``storages``, each with its storage; None for one that mustn't be touched (lazy clone)."""
    found: dict[int, tuple[int, int, Any]] = {}
    with torch._C.DisableTorchFunction():
        _add(torch, str(_backend(torch)), obj, found, 0)
    return [(address, *place) for address, place in found.items()]


def memory(torch: Any) -> Any:
    """What the allocator has, by a list of its own (``torch_segments.Memory``), or None."""
    if _backend(torch) != "cuda":
        return None
    allocator = sibling("torch_segments")
    return allocator.Memory(allocator.segments(torch))


def gradient(torch: Any, obj: Any) -> Any:
    """The tensor's ``.grad``, or None. It is no Python object's referent."""
    if not issubclass(type(obj), torch.Tensor):
        return None
    with torch._C.DisableTorchFunction():
        base = _base(torch)
        # Asking any other one makes torch warn.
        may = base.is_leaf.__get__(obj) or base.retains_grad.__get__(obj)
        return base.grad.__get__(obj) if may else None


def inner(torch: Any, obj: Any) -> list[tuple[str, Any]]:
    """Tensors that this one refers to in C, by name: its gradient, and what it is a view of."""
    if not issubclass(type(obj), torch.Tensor):
        return []
    found = [("grad", gradient(torch, obj))]
    with torch._C.DisableTorchFunction():
        found.append(("_base", _base(torch)._base.__get__(obj)))
    return [(name, tensor) for name, tensor in found if tensor is not None]


def uses(torch: Any, obj: Any) -> int | None:
    """How often a tensor is referred to in C, where its object counts as one; None for a storage,
    and for tensors before torch 2.1, which doesn't tell."""
    count = getattr(_base(torch), "_use_count", None)
    if count is None or not issubclass(type(obj), torch.Tensor):
        return None
    with torch._C.DisableTorchFunction():
        return int(count(obj))


def has_more(torch: Any, obj: Any) -> bool:
    """Whether it may keep memory that no object shows: what its backward() would need."""
    if not issubclass(type(obj), torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():
        return not _base(torch).is_leaf.__get__(obj)


def describe(torch: Any, obj: Any) -> dict[str, Any]:
    """``shape`` is None where it has none (nested), or where the user's class would be asked."""
    told: dict[str, Any] = {"kind": type.__getattribute__(type(obj), "__name__")}
    told["shape"] = told["dtype"] = None
    if issubclass(type(obj), torch.Tensor):
        base = _base(torch)
        with torch._C.DisableTorchFunction():
            told["dtype"] = str(base.dtype.__get__(obj)).replace("torch.", "")
            nested = hasattr(base, "is_nested") and base.is_nested.__get__(obj)
            if not nested and not _dispatches(torch, obj):
                told["shape"] = list(base.shape.__get__(obj))
    return told


def _base(torch: Any) -> Any:
    """The class in C that has a tensor's attributes as they are."""
    return torch.Tensor.__mro__[1]


def _dispatches(torch: Any, tensor: Any) -> bool:
    """Whether its class has a ``__torch_dispatch__``: then it may only wrap other tensors."""
    if type(tensor) is torch.Tensor:
        return False
    keys = getattr(torch._C, "_dispatch_keys", None)
    return keys is not None and bool(keys(tensor).has(torch._C.DispatchKey.Python))


def _add(
    torch: Any, kind: str, obj: Any, found: dict[int, tuple[int, int, Any]], depth: int
) -> None:
    if not issubclass(type(obj), torch.Tensor):
        _add_storage(kind, obj, found)
        return
    wraps = _dispatches(torch, obj)
    if not wraps and _base(torch).layout.__get__(obj) is not torch.strided:
        for part in _sparse_parts(torch, obj):
            _add(torch, kind, part, found, depth)
        return
    storage = _storage(torch, obj)
    if storage is not None:
        _add_storage(kind, storage, found, None if wraps else _shared_address(torch, obj))
    if wraps and depth < _NESTING:
        for part in _wrapped(torch, obj):
            _add(torch, kind, part, found, depth + 1)


def _storage(torch: Any, tensor: Any) -> Any:
    base = _base(torch)
    try:
        if hasattr(base, "untyped_storage"):
            return base.untyped_storage(tensor)
        return torch.Tensor.storage(tensor)._storage  # before torch 2.0
    except (RuntimeError, AttributeError):
        return None  # a kind of tensor that has none, such as those within vmap and grad


def _shared_address(torch: Any, tensor: Any) -> int | None:
    """Of a lazy clone that still shares its memory: to ask its storage would make the copy."""
    is_clone = getattr(torch._C, "_is_cow_tensor", None)
    if is_clone is None or not is_clone(tensor):
        return None
    base = _base(torch)
    offset: int = base.storage_offset(tensor) * base.element_size(tensor)
    return int(torch._C._data_address(tensor)) - offset


def _add_storage(
    kind: str, storage: Any, found: dict[int, tuple[int, int, Any]], address: int | None = None
) -> None:
    device = storage.device
    if device.type != kind:
        return
    size = storage.nbytes()
    if not size:
        return
    if address is not None:
        found[address] = (size, device.index or 0, None)
        return
    try:
        address = storage.data_ptr()
    except RuntimeError:
        return  # a stand-in that has only the shape of a tensor
    if address:
        found[address] = (size, device.index or 0, storage)


def _sparse_parts(torch: Any, tensor: Any) -> list[Any]:
    """The tensors that a sparse one is made of, themselves, no copies."""
    base = _base(torch)
    layout = base.layout.__get__(tensor)
    names: tuple[str, ...] = ()
    if layout is torch.sparse_coo:
        names = ("_indices", "_values")
    elif layout in (getattr(torch, "sparse_csr", None), getattr(torch, "sparse_bsr", None)):
        names = ("crow_indices", "col_indices", "values")
    elif layout in (getattr(torch, "sparse_csc", None), getattr(torch, "sparse_bsc", None)):
        names = ("ccol_indices", "row_indices", "values")
    undispatched = getattr(torch._C, "_DisableTorchDispatch", torch.no_grad)
    with torch.no_grad(), undispatched():
        return [getattr(base, name)(tensor) for name in names]


def _wrapped(torch: Any, tensor: Any) -> list[Any]:
    """Tensors that are attributes of this one, found as the collector finds them."""
    around = gc.get_referents(tensor)
    for thing in list(around):
        if type(thing) is dict:
            around.extend(thing.values())
    return [
        thing for thing in around if thing is not tensor and issubclass(type(thing), torch.Tensor)
    ]


# --- memory that no Python object holds ---------------------------------------------------------


def hidden(torch: Any) -> list[dict[str, Any]]:
    """``[{"label", "kind", "bytes", "device", "key"}]``.

    ``key`` is the address as ``storages`` has it, for what is recognised by its size alone: a
    tensor that is found there is the tensor's. None for what is no part of ``live``.
    """
    if _backend(torch) != "cuda":
        return []
    allocator = sibling("torch_segments")
    workspaces = _workspaces(torch)
    rows = []
    kept: dict[int, int] = {}
    for segment in allocator.segments(torch):
        device = segment["device"]
        address = segment["address"]
        for block in segment["blocks"]:
            label = workspaces.get(block.get("requested_size"))
            if block["state"] == "inactive":
                if allocator.is_private(segment):
                    kept[device] = kept.get(device, 0) + block["size"]
            elif label is not None and block["state"] == "active_allocated":
                rows.append(_hidden(label, "workspace", block["size"], device, address))
            address += block["size"]
    for device, size in kept.items():
        rows.append(_hidden("CUDA graphs' private pools", "private pool", size, device, None))
    return rows


def _workspaces(torch: Any) -> dict[Any, str]:
    """Size in bytes to whose it is; empty with older versions, which don't tell the sizes."""
    found: dict[Any, str] = {}
    for call, label in (
        ("_cuda_getCublasWorkspaceSize", "cuBLAS workspace"),
        ("_cuda_getCublasLtWorkspaceSize", "cuBLASLt workspace"),
    ):
        if hasattr(torch._C, call):
            found[getattr(torch._C, call)()] = label
    return found


def _hidden(label: str, kind: str, size: int, device: int, key: int | None) -> dict[str, Any]:
    return {"label": label, "kind": kind, "bytes": size, "device": device, "key": key}
