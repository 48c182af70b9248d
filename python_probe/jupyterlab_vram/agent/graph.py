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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


SECONDS = 1.2
"""Of this thread's own time, after which the pass stops: a million objects take less."""
LEADING = 150_000
"""Objects that lead to memory; with more, too, it stops."""
CHUNK = 512
FROZEN = 5_000
"""``gc.freeze`` was called if more are frozen: Python 3.12 starts with some hundreds."""
HAS_REFERENTS = 1 << 14
"""Py_TPFLAGS_HAVE_GC among a type's flags."""
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
    it, as often as they do), ``arrays`` (id to adapter, framework and storages), ``inner`` (id of
    an array to names and ids of those that it refers to in C), ``unseen`` (id to how many
    references are by nobody that was found: by code in C, by a running function), ``objects`` (how
    many were looked at), ``complete`` (whether those were all).
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.parents: dict[int, list[int]] = {}
        self.arrays: dict[int, Any] = {}
        self.inner: dict[int, list[tuple[str, int]]] = {}
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
    """One look at everything. Classes go by their ids: to be hashed, a class is asked, and with a
    metaclass that may be code of the user's."""

    def __init__(self, frameworks: list[Any], roots: list[Any]) -> None:
        # First, so that none of what follows is among them.
        objects = gc.get_objects()
        self.object_array = sibling("object_arrays").kind()
        self.object_arrays: dict[int, Any] = {}
        self.frameworks = [pair for pair in frameworks if hasattr(pair[0], "is_array")]
        self.adapters: dict[int, Any] = {}
        self.classes: dict[int, type] = {}
        self.ends: set[int] = set()
        self.first: dict[int, Any] = {}
        self.others: dict[int, list[Any]] = {}
        if gc.get_freeze_count() > FROZEN:
            objects = with_frozen(objects, roots)
        if self.object_array is not None:
            objects += _untracked(roots)
        self.groups: dict[int, list[Any]] = {}
        for obj in objects:
            key = id(type(obj))
            if key in self.groups:
                self.groups[key].append(obj)
            else:
                self.groups[key] = [obj]
        for group in self.groups.values():
            self.learn(type(group[0]))
        # The few of each kind first: a million records of one kind are what time may run out for.
        self.order = sorted(
            (group for group in self.groups.values() if not _is_end(type(group[0]))),
            key=len,
        )

    def learn(self, cls: type) -> None:
        """Tell the types apart: arrays, ends of every path, and the rest."""
        self.classes[id(cls)] = cls
        for pair in self.frameworks:
            if pair[0].is_array(pair[1], cls):
                self.adapters[id(cls)] = pair
                return
        if cls is self.object_array:
            return
        # Every instance refers to its class: that would be an edge an object for nothing.
        if _is_end(cls) or issubclass(cls, type) or not _refers(cls):
            self.ends.add(id(cls))

    def chunks(self) -> Any:
        for group in self.order:
            for start in range(0, len(group), CHUNK):
                yield group[start : start + CHUNK]

    def edges(self, seconds: float) -> tuple[int, bool]:
        """Objects looked at, and whether it was all."""
        until, looked = time.thread_time() + seconds, 0
        for group in self.order:
            flat = tried = 0
            for start in range(0, len(group), CHUNK):
                if time.thread_time() > until:
                    return looked, False
                chunk = group[start : start + CHUNK]
                looked += len(chunk)
                # Records of numbers and texts lead nowhere, which is sooner seen of many at once.
                if tried < 4 or flat * 2 > tried:
                    tried += 1
                    if set(map(id, map(type, gc.get_referents(*chunk)))) <= self.ends:
                        flat += 1
                        continue
                self._add_edges(chunk, gc.get_referents)
        return looked, self._look_into_object_arrays(until)

    def _look_into_object_arrays(self, until: float) -> bool:
        """Whether it was all."""
        module, complete = sibling("object_arrays"), True
        known: set[int] = set()
        while len(known) < len(self.object_arrays):
            fresh = [array for key, array in self.object_arrays.items() if key not in known]
            known.update(map(id, fresh))
            for array in fresh:
                if time.thread_time() > until:
                    return False
                complete = complete and not module.has_more(array)
                self._add_edges([array], module.parts)
        return complete

    def _add_edges(self, objects: list[Any], parts_of: Any) -> None:
        first, others, ends, classes = self.first, self.others, self.ends, self.classes
        array = id(self.object_array)
        for obj in objects:
            for part in parts_of(obj):
                kind = id(type(part))
                if kind not in ends:
                    if kind not in classes:
                        self.learn(type(part))
                    key = id(part)
                    if kind == array:
                        self.object_arrays[key] = part
                    if key not in first:
                        first[key] = obj
                    elif key in others:
                        others[key].append(obj)
                    else:
                        others[key] = [obj]

    def arrays(self) -> Any:
        loose = set()
        for key, pair in self.adapters.items():
            if _refers(self.classes[key]):
                for obj in self.groups.get(key, ()):
                    yield obj, pair
            else:
                loose.add(key)
        if loose:
            # The collector doesn't list them: they are found as what something refers to.
            found = {}
            for chunk in self.chunks():
                for part in gc.get_referents(*chunk):
                    if id(type(part)) in loose:
                        found[id(part)] = part
            for obj in found.values():
                yield obj, self.adapters[id(type(obj))]

    def referrers(self, targets: set[int]) -> Any:
        """Pairs of the id of a target and what refers to it, by another pass."""
        for chunk in self.chunks():
            if targets.isdisjoint(map(id, gc.get_referents(*chunk))):
                continue
            for obj in chunk:
                for part in gc.get_referents(obj):
                    if id(part) in targets:
                        yield id(part), obj


def _is_end(cls: type) -> bool:
    return any(cls is end for end in ENDS)


def _refers(cls: type) -> bool:
    """Whether its instances refer to anything that can be seen."""
    return bool(_flags(cls) & HAS_REFERENTS)


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
    inner = _optional(work, "inner")
    for key, (adapter, _, _) in list(graph.arrays.items()):
        if adapter.NAME in inner:
            _add_inner(graph, key)


def _optional(work: _Pass, function: str) -> set[str]:
    """Names of the adapters that have it."""
    return {adapter.NAME for adapter, _ in work.frameworks if hasattr(adapter, function)}


def _add_array(graph: Graph, obj: Any, adapter: Any, framework: Any) -> bool:
    storages = adapter.storages(framework, obj)
    if storages:
        graph.nodes[id(obj)] = obj
        graph.arrays[id(obj)] = (adapter, framework, storages)
    return bool(storages)


def _add_inner(graph: Graph, key: int) -> None:
    """What an array refers to in C, out of the collector's sight."""
    adapter, framework, _ = graph.arrays[key]
    for name, found in adapter.inner(framework, graph.nodes[key]):
        if id(found) in graph.arrays or _add_array(graph, found, adapter, framework):
            graph.inner.setdefault(key, []).append((name, id(found)))
            graph.parents.setdefault(id(found), []).append(key)


def _climb(
    graph: Graph, work: _Pass, stack: list[int], stops: dict[int, Any], ignored: set[int]
) -> None:
    """Everything that leads to the nodes on the stack."""
    nodes, parents = graph.nodes, graph.parents
    classes: set[int] = set()
    while stack:
        while stack:
            if len(nodes) > LEADING:
                graph.complete = False
                return
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
    for held in (work.first, work.others, work.groups, work.order, work.object_arrays):
        held.clear()
    nodes, getrefcount = graph.nodes, sys.getrefcount
    sample = {0: object()}
    own = getrefcount(sample[0])
    within = _references_in_c(graph, work)
    for key in nodes:
        # Interpreter and threads hold these in ways of their own.
        if key in stops or issubclass(type(nodes[key]), (type, types.ModuleType, types.FrameType)):
            continue
        known, used = within.get(key, (0, 0))
        unseen = getrefcount(nodes[key]) - own - (len(graph.parents.get(key, ())) - known)
        # However often something is referred to in C, that is one reference to its object.
        if used:
            unseen = max(0, unseen - 1) + max(0, used - known)
        if unseen > 0:
            graph.unseen[key] = unseen


def _references_in_c(graph: Graph, work: _Pass) -> dict[int, tuple[int, int]]:
    """Id of an array to how many of the references to it in C are known (``Graph.inner``), and how
    many there are."""
    known: dict[int, int] = {}
    for parts in graph.inner.values():
        for _, key in parts:
            known[key] = known.get(key, 0) + 1
    found = {key: (times, times) for key, times in known.items()}
    optional = _optional(work, "uses")
    others: list[tuple[int, int]] = []
    tensors: dict[Any, int] = {}
    for key, (adapter, framework, storages) in graph.arrays.items():
        if adapter.NAME in optional:
            uses = adapter.uses(framework, graph.nodes[key])
            if uses is None:
                others += [(key, identity) for identity, _, _ in storages]
            else:
                found[key] = (known.get(key, 0), uses - 1)
                tensors.update((identity, key) for identity, _, _ in storages)
    for key, identity in others:
        # A storage as an object of its own: the tensors on it refer to it.
        if identity in tensors:
            graph.parents.setdefault(key, []).append(tensors[identity])
            found[key] = (1, 1)
    return found


def _untracked(namespaces: list[Any]) -> list[Any]:
    """Namespaces, and containers in them, that the collector leaves alone: all that they refer to
    is what it doesn't see, as arrays of objects."""
    found = {}
    for names in namespaces:
        for thing in (names, *(dict.values(names) if type(names) is dict else ())):
            if (type(thing) is dict or type(thing) is tuple) and not gc.is_tracked(thing):
                found[id(thing)] = thing
    return list(found.values())


def with_frozen(objects: list[Any], roots: list[Any]) -> list[Any]:
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
