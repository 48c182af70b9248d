"""Parks PyTorch's tensors on CUDA (also ROCm), see ``park.py``. Runs in the user's kernel.

Tried with the CUDA build of torch 2.14 on a simulated driver: a storage that is resized to nothing
and back in place serves all tensors on it as before: views, parameters and their gradients,
inference tensors, what autograd saved for a backward pass, expandable segments. Versions that
autograd counts don't change.

Left where they are: storages that the allocator does not know (imported ones), those that torch
does not resize (DLPack), and every storage that shares an address with another one: the other
would be left with memory that is somebody else's by then.
"""

from __future__ import annotations

import bisect
import datetime
import mmap
import sys
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple  # noqa: UP035 - Python 3.8

PIECE = 64 << 20
"""Bytes copied between two looks at whether the user interrupts."""

SHARERS = {
    "cupy": "CuPy",
    "cudf": "cuDF",
    "rmm": "RMM",
    "numba.cuda": "Numba for CUDA",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
    "pycuda": "PyCUDA",
    "warp": "Warp",
    "taichi": "Taichi",
    "mxnet": "MXNet",
    "paddle": "Paddle",
    "dgl": "DGL",
    "tvm": "TVM",
    "tensorrt": "TensorRT",
    "onnxruntime": "ONNX Runtime",
    "nvidia.dali": "DALI",
}
"""Modules that take others' GPU memory by its address (DLPack, __cuda_array_interface__)."""

CAPSULE = type(vars(datetime)["datetime_CAPI"])

_POPULATE = {"linux": 0x8000}.get(sys.platform)
"""MAP_POPULATE, which ``mmap`` has a name for since Python 3.10: faster by half than page faults
during the copy."""


class Part:
    """A storage to be moved. ``pieces`` are where its bytes are in host RAM."""

    def __init__(self, storage: Any, nbytes: int, device: int, stream: int) -> None:
        self.storage = storage
        self.nbytes = nbytes
        self.device = device
        self.stream = stream
        """The address of the stream that its memory belongs to, 0 for the default one."""
        self.pieces: list[tuple[mmap.mmap, int, int]] = []


class HostMemory:
    """Fresh host RAM for ``total`` bytes, taken in pieces; dropped, the system has it back."""

    def __init__(self, total: int) -> None:
        self._left = total
        self._piece: Any = None
        self._at = 0

    def take(self, nbytes: int) -> Iterator[tuple[mmap.mmap, int, int]]:
        """Places for so many bytes as (memory, offset, length). Raises OSError without RAM."""
        while nbytes:
            if self._piece is None or self._at == len(self._piece):
                self._piece, self._at = _fresh(min(PIECE, self._left)), 0
                self._left -= len(self._piece)
            length = min(nbytes, len(self._piece) - self._at)
            yield self._piece, self._at, length
            self._at += length
            nbytes -= length


def _fresh(nbytes: int) -> mmap.mmap:
    if _POPULATE is None:
        return mmap.mmap(-1, nbytes)
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _POPULATE)


def refusals(agent: Any, torch: Any) -> list[str]:
    storage = getattr(torch, "UntypedStorage", None)
    if not torch.cuda.is_initialized() or not hasattr(storage, "resizable"):
        return ["Only data on CUDA or ROCm can be parked, with PyTorch 2.1 or later."]
    sentences = []
    loaded = [name for module, name in SHARERS.items() if sys.modules.get(module) is not None]
    if loaded:
        sentences.append(
            f"{', '.join(loaded)} {'is' if len(loaded) == 1 else 'are'} loaded, and may use "
            "PyTorch's memory by its address: that would be other data's after a move."
        )
    backend = getattr(torch.cuda, "get_allocator_backend", lambda: "native")()
    if backend != "native":
        sentences.append(
            f"PyTorch's memory comes from another allocator here ({backend}), which can't tell "
            "whose it is."
        )
    capsules = [
        name
        for name, value in agent.module("unpin").user_variables(agent.shell)
        if type(value) is CAPSULE and '"dltensor' in repr(value)
    ]
    if capsules:
        sentences.append(
            f"{agent.module('unpin').listed(capsules)} holds a tensor's address for others "
            "(DLPack). To park, delete it first."
        )
    return sentences


def survey(agent: Any, torch: Any, objects: list[Any]) -> dict[str, Any]:
    allocator = agent.module("torch_segments")
    segments = allocator.segments(torch)
    blocks = allocator.in_use(segments)
    found, aliased, imported = _by_address(_storages(agent, torch, objects), blocks)
    parts, stays = [], []
    for place in found.values():
        kind = _stays(place, aliased)
        if kind is None:
            stream = blocks[place.address][1]
            parts.append(Part(place.storage, place.nbytes, place.device, stream))
        else:
            stays.append((place.thing, kind, place.nbytes, place.device))
    stays += [(place.thing, "imported memory", place.nbytes, place.device) for place in imported]
    return {
        "parts": parts,
        "refused": _pooled(agent.module("torch_gpu").has_graphs(torch, segments))
        + _shared([place.storage for place in (*found.values(), *imported)]),
        "stays": stays,
        "found": sum(blocks[address][0] for address in {place.address for place in found.values()}),
        "allocated": sum(size for size, _ in blocks.values()),
    }


def _pooled(has_graphs: bool) -> list[str]:
    if not has_graphs:
        return []
    sentence = (
        "CUDA graphs or memory pools have memory at fixed addresses (torch.compile's "
        "reduce-overhead makes graphs, too)."
    )
    return [sentence]


class Place(NamedTuple):
    storage: Any
    """None if it mustn't be touched."""
    address: int
    nbytes: int
    device: int
    thing: Any
    """An object that has it."""

    @property
    def identity(self) -> int:
        return int(self.address if self.storage is None else self.storage._cdata)


def _storages(agent: Any, torch: Any, objects: list[Any]) -> list[Place]:
    adapter = agent.module("torch_gpu")
    # Gradients that nobody has asked for in Python are no Python objects yet.
    gradients = [adapter.gradient(torch, thing) for thing in objects]
    found = []
    for thing in (*objects, *(gradient for gradient in gradients if gradient is not None)):
        for address, nbytes, device, storage in adapter.places(torch, thing):
            found.append(Place(storage, address, nbytes, device, thing))
    return found


def _by_address(
    places: list[Place],
    blocks: dict[int, tuple[int, int]],
) -> tuple[dict[int, Place], set[int], list[Place]]:
    """Each storage once that is the allocator's, the addresses of those that have other owners,
    too, and the storages that aren't the allocator's."""
    starts = sorted(blocks)
    found: dict[int, Place] = {}
    owners: dict[int, int] = {}
    aliased = set()
    imported: dict[int, Place] = {}
    for place in places:
        address = place.address
        if address in blocks:
            found[place.identity] = place
            if owners.setdefault(address, place.identity) != place.identity:
                aliased.add(address)
            continue
        imported[place.identity] = place
        block = bisect.bisect_right(starts, address) - 1
        if block >= 0 and address < starts[block] + blocks[starts[block]][0]:
            aliased.add(starts[block])  # it begins in the midst of this one
    return found, aliased, list(imported.values())


def _stays(place: Place, aliased: set[int]) -> str | None:
    """Why it can't be moved, in a word or two; None if it can."""
    if place.address in aliased:
        return "memory with two owners"
    if place.storage is None:
        return "lazy copy"
    return None if place.storage.resizable() else "memory of fixed size"


def _shared(storages: list[Any]) -> list[str]:
    reductions = sys.modules.get("torch.multiprocessing.reductions")
    cache = getattr(reductions, "shared_cache", {})
    shared = {reference.cdata for reference in list(cache.values())}
    if not any(storage is not None and storage._cdata in shared for storage in storages):
        return []
    sentence = (
        "Tensors are shared with another process (torch.multiprocessing), which uses them by their "
        "address."
    )
    return [sentence]


@contextmanager
def _unobserved(torch: Any) -> Iterator[None]:
    """No mode or subclass of the user's takes part in what torch does here."""
    undispatched = getattr(torch._C, "_DisableTorchDispatch", torch.no_grad)
    # In this order: to turn gradients off is a torch function, too.
    with torch._C.DisableTorchFunction(), torch.no_grad(), undispatched():
        yield


def save(agent: Any, torch: Any, parts: list[Part], check: Any) -> None:
    _wait(torch, parts)
    memory = HostMemory(sum(part.nbytes for part in parts))
    with _unobserved(torch):
        for part in parts:
            part.pieces = []
            whole, at = _bytes_of(torch, part), 0
            for piece in memory.take(part.nbytes):
                _view(torch, *piece).copy_(whole.narrow(0, at, piece[2]))
                part.pieces.append(piece)
                at += piece[2]
                check()


def load(agent: Any, torch: Any, parts: list[Part], check: Any) -> None:
    with _unobserved(torch):
        for part in parts:
            whole, at = _bytes_of(torch, part), 0
            for piece in part.pieces:
                whole.narrow(0, at, piece[2]).copy_(_view(torch, *piece))
                at += piece[2]
                check()
    _wait(torch, parts)


def empty(agent: Any, torch: Any, parts: list[Part]) -> None:
    for part in parts:
        if part.storage.nbytes():
            part.storage.resize_(0)


def fill(agent: Any, torch: Any, parts: list[Part]) -> None:
    for part in parts:
        if not part.storage.nbytes():
            with torch.cuda.stream(_stream(torch, part)):
                part.storage.resize_(part.nbytes)


def lacks(agent: Any, torch: Any, parts: list[Part]) -> list[tuple[int, int]]:
    needed: dict[int, int] = {}
    for part in parts:
        needed[part.device] = needed.get(part.device, 0) + part.nbytes
    found = []
    for device, nbytes in needed.items():
        # Makes a context where there is none; there is one where the data was.
        free = torch.cuda.mem_get_info(device)[0]
        if free < nbytes:
            found.append((nbytes, free))
    return found


def _wait(torch: Any, parts: list[Part]) -> None:
    """Until nothing that was begun is still at work on the data, under any stream."""
    for device in {part.device for part in parts}:
        torch.cuda.synchronize(device)


def _stream(torch: Any, part: Part) -> Any:
    if part.stream == 0:
        return torch.cuda.default_stream(part.device)
    return torch.cuda.ExternalStream(part.stream, part.device)


def _bytes_of(torch: Any, part: Part) -> Any:
    """A tensor of all the storage's bytes."""
    tensor = torch.empty(0, dtype=torch.uint8, device=f"cuda:{part.device}")
    return tensor.set_(part.storage)


def _view(torch: Any, memory: mmap.mmap, offset: int, length: int) -> Any:
    return torch.frombuffer(memory, dtype=torch.uint8, offset=offset, count=length)
