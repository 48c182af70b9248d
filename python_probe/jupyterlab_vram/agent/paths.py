"""The shortest name for each thing that leads to GPU memory. Runs in the user's kernel."""

from __future__ import annotations

import collections
import heapq
import itertools
import types
from typing import Any

RANKS = ("variable", "output", "exception", "thread", "generator", "module", "unknown")
"""Where names begin, the one that a person can do most about first."""
RANK, OPTIMIZER, LOOSE, WITHIN = 1_000_000, 100_000, 400, 30
"""Costs of the next rank; of a way by an optimizer, since weights belong to their model; of an
array outside of a model, since a weight that is also in a list is the model's. Links within a
model cost that many times less."""
LINKS = 8
"""As many of a name are shown."""
BOXES = (dict, list, tuple, set, frozenset, collections.deque)


class Step:
    """How a thing is reached: from the step ``above`` or, at the beginning, by a ``root``.

    ``unit`` is the model or optimizer that it is a part of, ``box`` the outermost container, both
    ids or None. ``part`` says which part of its unit. ``through`` is what its variables belong to,
    if they aren't the notebook's own: a closure, a generator, a frame.
    """

    __slots__ = ("above", "box", "how", "key", "name", "part", "root", "through", "unit")

    def __init__(self, key: int, root: Any, above: Step | None, how: str, name: Any) -> None:
        self.key = key
        self.root = root
        self.above = above
        self.how = how
        self.name = name
        self.unit: int | None = above.unit if above else None
        self.part: str | None = above.part if above else None
        self.box: int | None = above.box if above else None
        self.through: str | None = above.through if above else None


class Paths:
    """``steps``: id of a thing to its Step; ``costs``: which names are better, less is."""

    def __init__(self, naming: Any, graph: Any, roots: list[Any], stops: Any, kinds: Any) -> None:
        self.steps: dict[int, Step] = {}
        self.costs: dict[int, tuple[int, int]] = {}
        self._naming = naming
        self._graph = graph
        self._kinds = kinds
        self._order = itertools.count()
        self._heap: list[Any] = []
        leading = {parent for parents in graph.parents.values() for parent in parents}
        links = naming.Links({key: None for key in graph.nodes if key not in stops})
        for root in roots:
            cost = RANKS.index(root.where) * RANK
            self._offer(cost, naming.STEP, Step(root.part, root, None, "", None))
        while self._heap:
            cost, _, step = heapq.heappop(self._heap)
            key = step.key
            if key in self.steps:
                continue
            self.steps[key] = step
            self.costs[key] = (cost, len(self.costs))
            obj = graph.nodes[key]
            self._enter(type(obj), step)
            for name, part in graph.inner.get(key, ()):
                # A view's base is a last resort: nobody has named it.
                below = Step(part, step.root, step, ".", name)
                below.part = "gradients" if name == "grad" else step.part
                self._offer(cost, naming.STEP if name == "grad" else naming.INSIDE, below)
            if key in leading:
                for how, name, part, price in links.of(obj):
                    if id(part) not in self.steps:
                        below = Step(id(part), step.root, step, how, name)
                        if step.through is None:
                            below.through = _through(type(obj), how, naming)
                        self._offer(cost, price, below)

    def _offer(self, cost: int, price: int, step: Step) -> None:
        if step.unit is not None:
            cost += price // WITHIN
        else:
            cost += price
            if step.key in self._graph.arrays:
                cost += LOOSE
            elif self._kinds.of(type(self._graph.nodes[step.key])) == "optimizer":
                cost += OPTIMIZER
        heapq.heappush(self._heap, (cost, next(self._order), step))

    def _enter(self, cls: type, step: Step) -> None:
        kind = self._kinds.of(cls)
        if kind == "optimizer" or (kind == "model" and step.unit is None):
            step.unit = step.key
            step.part = "parameters" if kind == "optimizer" else None
        elif step.unit is None:
            if step.box is None and (issubclass(cls, BOXES) or cls is self._naming.CACHE):
                step.box = step.key
        elif step.part == "parameters" and step.above is not None and step.name == "state":
            step.part = "optimizer state"

    def label(self, key: int) -> str:
        step: Step | None = self.steps[key]
        suffixes = []
        while step is not None:
            suffixes.append((step.how, step.name))
            root, step = step.root, step.above
        suffixes = [suffix for suffix in reversed(suffixes) if suffix[0]]
        texts = [self._naming.suffix(*suffix) for suffix in suffixes[:LINKS]]
        if len(suffixes) > LINKS:
            texts[-2:] = ["…", self._naming.suffix(*suffixes[-1])]
        return str(root.label) + "".join(texts)


class Kinds:
    """Which classes are models and which optimizers, by what the frameworks say of theirs."""

    def __init__(self, naming: Any, adapters: list[Any]) -> None:
        self._is_one_of = naming.is_one_of
        self._names = {
            kind: tuple(name for adapter in adapters for name in getattr(adapter, attribute, ()))
            for kind, attribute in (("model", "MODELS"), ("optimizer", "OPTIMIZERS"))
        }
        self._known: dict[int, str | None] = {}

    def of(self, cls: type) -> str | None:
        if id(cls) not in self._known:
            kinds = (kind for kind, names in self._names.items() if self._is_one_of(cls, names))
            self._known[id(cls)] = next(kinds, None)
        return self._known[id(cls)]


def _through(cls: type, how: str, naming: Any) -> str | None:
    if how == " → ":
        for kinds, word in (
            (naming.GENERATORS, "generator"),
            ((types.FunctionType, naming.CACHE), "closure"),
            ((types.FrameType, types.TracebackType), "frame"),
        ):
            if any(cls is kind for kind in kinds):
                return word
    return None
