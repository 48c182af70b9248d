"""Which objects lead to GPU memory, and by which references. Runs in the user's kernel.

One pass over what the garbage collector knows, with ``gc.get_referents``: to ask for the referrers
of an object is such a pass an object. No code of the user's runs: types are told by ``type()``,
objects by ``id()``, and the referents are those that the interpreter itself follows.
"""

from __future__ import annotations

import gc
import sys
import time
import types
from typing import Any

SECONDS = 1.4
"""The pass stops after this."""
CHUNK = 512
FROZEN = 5_000
"""``gc.freeze`` was called if more are frozen: Python 3.12 starts with some hundreds."""
HAS_REFERENTS = 1 << 14
"""Py_TPFLAGS_HAVE_GC in a type's flags; instances of others refer to nothing that can be seen."""
ENDS = (
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)

_type: Any = type
_flags = _type.__dict__["__flags__"].__get__


class Graph:
    """What leads to GPU memory. It refers to all of it: to be dropped with the request.

    Attributes: ``nodes`` (id to object), ``parents`` (id to the ids of the objects that refer to
    it, as often as they do), ``arrays`` (id to adapter, framework and storages), ``gradients`` (id
    of an array to that of its gradient), ``unseen`` (id to how many references the collector
    doesn't see: by code in C, by a running function), ``objects`` (how many were looked at),
    ``complete`` (whether those were all).
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.parents: dict[int, list[int]] = {}
        self.arrays: dict[int, Any] = {}
        self.gradients: dict[int, int] = {}
        self.unseen: dict[int, int] = {}
        self.objects = 0
        self.complete = True

    def children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for child, parents in self.parents.items():
            for parent in parents:
                found.setdefault(parent, []).append(child)
        return found


class _Pass:
    def __init__(self, frameworks: list[Any], roots: list[Any]) -> None:
        # First, so that none of what follows is among them.
        objects = gc.get_objects()
        self.frameworks = [pair for pair in frameworks if hasattr(pair[0], "is_array")]
        self.adapters: dict[type, Any] = {}
        self.known: set[type] = set()
        self.ends: set[type] = set()
        self.first: dict[int, Any] = {}
        self.others: dict[int, list[Any]] = {}
        if gc.get_freeze_count() > FROZEN:
            objects = _with_frozen(objects, roots)
        self.groups: dict[type, list[Any]] = {}
        for obj in objects:
            cls = type(obj)
            if cls in self.groups:
                self.groups[cls].append(obj)
            else:
                self.groups[cls] = [obj]
        self.learn(set(self.groups))

    def learn(self, classes: set[type]) -> None:
        """Tell the types apart: arrays, ends of every path, and the rest."""
        self.known |= classes
        for cls in classes:
            for pair in self.frameworks:
                if pair[0].is_array(pair[1], cls):
                    self.adapters[cls] = pair
                    break
            else:
                # Every instance refers to its class: that would be an edge an object for nothing.
                if cls in ENDS or issubclass(cls, type) or not _flags(cls) & HAS_REFERENTS:
                    self.ends.add(cls)

    def chunks(self) -> Any:
        # The few of each kind first: a million records of one kind are what time may run out for.
        for cls, group in sorted(self.groups.items(), key=lambda item: len(item[1])):
            if cls not in ENDS:
                for start in range(0, len(group), CHUNK):
                    yield group[start : start + CHUNK]

    def edges(self, seconds: float) -> tuple[int, bool]:
        """Objects looked at, and whether it was all."""
        first, others, ends = self.first, self.others, self.ends
        referents = gc.get_referents
        until, looked = time.perf_counter() + seconds, 0
        for chunk in self.chunks():
            if time.perf_counter() > until:
                return looked, False
            looked += len(chunk)
            classes = set(map(type, referents(*chunk)))
            if not classes <= self.known:
                self.learn(classes - self.known)
            if classes <= ends:
                continue
            for obj in chunk:
                for part in referents(obj):
                    if type(part) not in ends:
                        key = id(part)
                        if key not in first:
                            first[key] = obj
                        elif key in others:
                            others[key].append(obj)
                        else:
                            others[key] = [obj]
        return looked, True

    def arrays(self) -> Any:
        for cls, pair in self.adapters.items():
            if _flags(cls) & HAS_REFERENTS:
                for obj in self.groups.get(cls, ()):
                    yield obj, pair
        loose = {cls for cls in self.adapters if not _flags(cls) & HAS_REFERENTS}
        if loose:
            # The collector doesn't list them: they are found as what something refers to.
            found = {}
            for chunk in self.chunks():
                for part in gc.get_referents(*chunk):
                    if type(part) in loose:
                        found[id(part)] = part
            for obj in found.values():
                yield obj, self.adapters[type(obj)]

    def referrers(self, targets: set[int]) -> Any:
        """Pairs of the id of a target and what refers to it, by another pass."""
        for chunk in self.chunks():
            if targets.isdisjoint(map(id, gc.get_referents(*chunk))):
                continue
            for obj in chunk:
                for part in gc.get_referents(obj):
                    if id(part) in targets:
                        yield id(part), obj


def build(frameworks: list[Any], stops: dict[int, Any], ignored: set[int]) -> Graph:
    """The graph of this moment; the garbage collector should be off while it is made.

    Args:
        frameworks: Adapters with their frameworks.
        stops: By id, containers beyond which nobody needs to look: namespaces.
        ignored: Ids of objects of our own.
    """
    work = _Pass(frameworks, list(stops.values()))
    graph = Graph()
    graph.objects, graph.complete = work.edges(SECONDS)
    _add_arrays(graph, work)
    _climb(graph, work, list(graph.nodes), stops, ignored | {id(work)})
    _count(graph, work, stops)
    return graph


def _add_arrays(graph: Graph, work: _Pass) -> None:
    for obj, (adapter, framework) in work.arrays():
        _add_array(graph, obj, adapter, framework)
    for key in list(graph.arrays):
        _add_gradient(graph, key)


def _add_array(graph: Graph, obj: Any, adapter: Any, framework: Any) -> bool:
    storages = adapter.storages(framework, obj)
    if storages:
        graph.nodes[id(obj)] = obj
        graph.arrays[id(obj)] = (adapter, framework, storages)
    return bool(storages)


def _add_gradient(graph: Graph, key: int) -> None:
    """A tensor's gradient is held in C, out of the collector's sight."""
    adapter, framework, _ = graph.arrays[key]
    gradient = getattr(adapter, "gradient", None)
    found = None if gradient is None else gradient(framework, graph.nodes[key])
    if found is not None and (
        id(found) in graph.arrays or _add_array(graph, found, adapter, framework)
    ):
        graph.gradients[key] = id(found)
        graph.parents.setdefault(id(found), []).append(key)


def _climb(
    graph: Graph, work: _Pass, stack: list[int], stops: dict[int, Any], ignored: set[int]
) -> None:
    """Everything that leads to the nodes on the stack."""
    nodes, parents = graph.nodes, graph.parents
    classes: set[int] = set()
    while stack:
        while stack:
            key = stack.pop()
            mine = parents.setdefault(key, [])
            if key in stops:
                continue
            if issubclass(type(nodes[key]), type):
                classes.add(key)
                continue
            above = [work.first[key]] if key in work.first else []
            for obj in above + work.others.get(key, []):
                if id(obj) not in ignored:
                    mine.append(id(obj))
                    if id(obj) not in nodes:
                        nodes[id(obj)] = obj
                        stack.append(id(obj))
        if classes:
            # Something is kept in a class: it lives as long as the class's instances.
            for key, obj in list(work.referrers(classes)):
                if id(obj) not in ignored:
                    parents[key].append(id(obj))
                    if id(obj) not in nodes:
                        nodes[id(obj)] = obj
                        stack.append(id(obj))
            classes = set()


def _count(graph: Graph, work: _Pass, stops: dict[int, Any]) -> None:
    """Compare each node's references with those that were found."""
    for held in (work.first, work.others, work.groups):
        held.clear()
    nodes, getrefcount = graph.nodes, sys.getrefcount
    sample = {0: object()}
    own = getrefcount(sample[0])
    for key in nodes:
        # Interpreter and threads hold these in ways of their own.
        if key in stops or issubclass(type(nodes[key]), (type, types.ModuleType, types.FrameType)):
            continue
        unseen = getrefcount(nodes[key]) - own - len(graph.parents[key])
        if unseen > 0:
            graph.unseen[key] = unseen


def _with_frozen(objects: list[Any], roots: list[Any]) -> list[Any]:
    """Also what ``gc.freeze`` took out of the collector's lists, as far as anything leads there."""
    seen = set(map(id, objects))
    fresh = [root for root in roots if id(root) not in seen]
    seen.update(map(id, fresh))
    todo = objects + fresh
    while todo:
        found = {}
        for start in range(0, len(todo), CHUNK):
            for part in gc.get_referents(*todo[start : start + CHUNK]):
                if id(part) not in seen and gc.is_tracked(part):
                    found[id(part)] = part
        seen.update(found)
        todo = list(found.values())
        fresh += todo
    return objects + fresh
