"""Runs in a kernel with torch: makes what a program says, parks it, brings it back, compares.

A program is a list of steps, each a name of ``STEPS`` and a number that stands for every choice.
"""

from __future__ import annotations

import gc
import hashlib
import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.testing._internal.two_tensor import TwoTensor

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.float8_e4m3fn,
    torch.complex64,
    torch.int64,
    torch.int8,
    torch.bool,
]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 3, 4), (256, 513), (1 << 21,)]
_streams: list[torch.cuda.Stream] = []


class Named(torch.Tensor):
    """A subclass whose every attribute and call tells lies to who asks it."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if Named.asleep:
            raise AssertionError(f"{function} was called on the user's class")
        return super().__torch_function__(function, types, args, kwargs or {})

    asleep = False


class Things:
    """What a program has made so far. ``tensors`` are those to compare; others only hold some."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.holders: list[Any] = []
        self.losses: list[torch.Tensor] = []

    def pick(self, number: int, *, floating: bool = False) -> torch.Tensor:
        fitting = [t for t in self.tensors if not floating or t.is_floating_point()]
        fitting = [t for t in fitting if not floating or not t.is_inference()]
        plain = (torch.Tensor, torch.nn.Parameter)
        fitting = [t for t in fitting if t.layout is torch.strided and type(t) in plain]
        return fitting[number % len(fitting)] if fitting else self.new(8 * 4)

    def new(self, number: int) -> torch.Tensor:
        """Values come from the host: on the simulated driver no kernel makes any."""
        dtype = DTYPES[number % len(DTYPES)]
        shape = SHAPES[number // len(DTYPES) % len(SHAPES)]
        nbytes = dtype.itemsize * torch.Size(shape).numel()
        values = torch.randint(0, 2, (nbytes,), dtype=torch.uint8)
        if dtype is not torch.bool:
            values = torch.randint(0, 256, (nbytes,), dtype=torch.uint8)
        host = torch.empty(shape, dtype=dtype)
        host.untyped_storage().copy_(values.untyped_storage())
        self.tensors.append(host.cuda())
        return self.tensors[-1]

    def view(self, number: int) -> None:
        of = self.pick(number).detach()
        length = of.untyped_storage().nbytes() // of.itemsize - of.storage_offset()
        flat = of.as_strided((length,), (1,), of.storage_offset())
        kinds: list[Callable[[], torch.Tensor]] = [
            lambda: flat[number % (length + 1) :],
            lambda: of.unsqueeze(0).expand(3, *of.shape),
            lambda: of.movedim(0, -1) if of.dim() else of,
            lambda: flat[::2],
        ]
        self.tensors.append(kinds[number % len(kinds)]())

    def parameter(self, number: int) -> None:
        parameter = torch.nn.Parameter(self.pick(number, floating=True).detach())
        if number % 2:
            parameter.grad = torch.randn(parameter.shape).to(parameter)
        self.tensors.append(parameter)

    def model(self, number: int) -> None:
        size = 4 + number % 60
        first = torch.nn.Linear(size, size).cuda()
        second = torch.nn.Linear(size, size, bias=False).cuda()
        second.weight = first.weight
        model = torch.nn.Sequential(first, torch.nn.BatchNorm1d(size).cuda(), second)
        model(torch.randn(3, size).cuda()).sum().backward()
        kind = [torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW][number % 3]
        options = {"momentum": 0.9} if kind is torch.optim.SGD else {"amsgrad": bool(number % 2)}
        optimizer = kind(model.parameters(), lr=0.1, **options)
        optimizer.step()
        self.holders += [model, optimizer]
        self.tensors += [*model.parameters(), *model.buffers()]
        self.tensors += [v for s in optimizer.state.values() for v in s.values() if v.is_cuda]

    def pending(self, number: int) -> None:
        """A backward pass that is still to come."""
        of = self.pick(number, floating=True).detach().float().requires_grad_()
        self.tensors.append(of)
        self.losses.append((of * of).exp().sum())

    def inference(self, number: int) -> None:
        with torch.inference_mode():
            self.new(number)

    def sparse(self, number: int) -> None:
        size = 1 + number % 9
        at, values = torch.randint(0, 9, (2, size)), torch.randn(size)
        matrix = torch.sparse_coo_tensor(at, values, (9, 9))
        self.tensors.append((matrix.to_sparse_csr() if number % 2 else matrix).cuda())

    def stream(self, number: int) -> None:
        if len(_streams) < 3:
            _streams.append(torch.cuda.Stream())
        with torch.cuda.stream(_streams[number % len(_streams)]):
            self.new(number)

    def subclass(self, number: int) -> None:
        if number % 2:
            self.tensors.append(self.new(number).as_subclass(Named))
        else:
            self.tensors.append(TwoTensor(torch.randn(5).cuda(), torch.randn(5).cuda()))

    def checkpoint(self, number: int) -> None:
        file = io.BytesIO()
        torch.save({"x": self.pick(number).detach(), "y": torch.randn(9)}, file)
        file.seek(0)
        loaded = torch.load(file, map_location="cuda", weights_only=True)
        self.holders.append(loaded)
        self.tensors += loaded.values()

    def hidden(self, number: int) -> None:
        """Somewhere a name doesn't lead to at once."""
        thing = self.new(number)
        places: list[Callable[[], Any]] = [
            lambda: {"deep": [SimpleNamespace(tensor=thing)]},
            lambda: lambda: thing,
            lambda: thing.untyped_storage(),
            lambda: (thing for _ in range(2)),
        ]
        self.holders.append(places[number % len(places)]())

    def forget(self, number: int) -> None:
        if self.tensors:
            del self.tensors[number % len(self.tensors)]


STEPS = sorted(name for name in vars(Things) if name not in ("__init__", "pick") and name[0] != "_")


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The plain tensors that it is made of."""
    if type(tensor) is TwoTensor:
        return [tensor.a, tensor.b]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout is torch.sparse_csr:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [tensor]


def seen(things: Things) -> list[Any]:
    """All that a user could notice of it: every byte, who shares whose, and what torch says."""
    numbers: dict[int, int] = {}
    told = []
    with torch.no_grad():
        for tensor in things.tensors:
            for part in parts(tensor):
                storage = part.untyped_storage()
                whole = torch.empty(0, dtype=torch.uint8).set_(storage.cpu())
                told.append(
                    (
                        type(tensor).__name__,
                        numbers.setdefault(storage._cdata, len(numbers)),
                        hashlib.sha256(whole.numpy()).hexdigest(),
                        storage.nbytes(),
                        str(part.dtype),
                        tuple(part.shape),
                        part.stride(),
                        part.storage_offset(),
                        part.requires_grad,
                        part.is_inference() or part._version,
                        part.grad is not None if part.is_leaf else None,
                    )
                )
    return told


def streams() -> list[Any]:
    """Of each block in use: its size, and the stream that it belongs to."""
    return sorted(
        (segment["stream"], block["requested_size"])
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    )


def there_and_back(program: list[tuple[str, int]], agent: Any) -> None:
    """Raises AssertionError for the first difference."""
    torch.manual_seed(len(program))
    things = Things()
    for name, number in program:
        getattr(things, name)(number)
    things.new(8)
    gc.collect()
    before, blocks = seen(things), streams()
    allocated, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()

    Named.asleep = True
    checked = agent._run("park-check", {})
    parked = agent._run("park", {})
    assert parked.get("ok", True), parked
    assert (parked["moved"], parked["count"]) == (checked["bytes"], checked["count"])
    left = torch.cuda.memory_allocated()
    assert left == checked["stays_bytes"], (left, checked)
    assert left <= 0.05 * allocated or checked["differs"] > 0.05 or len(things.losses) > 0
    back = agent._run("restore", {})
    Named.asleep = False
    assert back.get("ok", True), back

    assert seen(things) == before
    assert streams() == blocks, (blocks, streams())
    assert torch.cuda.memory_allocated() == allocated
    assert torch.cuda.max_memory_allocated() == peak
    assert agent.kept == {}
    for loss in things.losses:
        loss.backward()
