"""Who holds the GPU's memory. Runs in the user's kernel, see ``handlers.py``.

``scan`` answers: ``rows`` (at most ``ROWS``, the largest first, as ``wire.HolderInKernel`` has
them; ``also`` names others that hold the same), ``found`` (bytes), ``objects`` (looked at),
``complete``, ``variables`` and ``models`` (how many a restart would lose), and ``gains``, remedy
to ``{"bytes", "is"}``.

What is said to come back is counted by the names that lead to it: something that only outputs
lead to comes back when those are dropped, what nothing leads to comes back by itself. It is exact
only if nothing is hidden: code in C can refer to an object or to memory without being seen.
Nothing that is found is kept, and nothing of the user's is called.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 200
VARIABLE, OUTPUT, EXCEPTION, OTHER, UNSEEN = 1, 2, 4, 8, 16
BITS = {"variable": VARIABLE, "output": OUTPUT, "exception": EXCEPTION}
REMEDIES = {
    "collect": 0,
    "unpin-exceptions": EXCEPTION,
    "unpin-outputs": OUTPUT,
    "delete": VARIABLE,
}
SEVERAL = -1
ATOMS = (type(None), str, bytes, bool, int, float)
EXACT = 1 << 20
"""Bytes by which what comes back may differ from what is counted."""
ROUNDING = 512
"""Bytes to a multiple of which allocators round."""


def scan(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    enabled = gc.isenabled()
    # A collection in the middle would free things under their identities.
    gc.disable()
    try:
        # A list that JupyterLab asks for anew is nobody's hold on anything.
        agent.module("unpin").forget_inspected(agent.kernel)
        return _scan(agent)
    finally:
        if enabled:
            gc.enable()


def _scan(agent: Any) -> dict[str, Any]:
    frameworks = agent.frameworks()
    figures = agent.measure()[0]
    naming, paths = agent.module("naming"), agent.module("paths")
    kinds = paths.Kinds(naming, [adapter for adapter, _ in frameworks])
    roots = agent.module("roots").Roots(agent)
    graph = agent.module("graph").build(frameworks, roots.stops, roots.own)
    children = graph.children()
    names = list(roots.of(graph, children))
    held = Held(frameworks, graph, children, names)
    rest, rest_rows = _rest(frameworks, figures, held)
    held.unseen += rest or 0
    ways = paths.Paths(naming, graph, names, roots.stops, kinds)
    rows = agent.module("rows").Rows(naming, graph, ways, names).of(held, ROWS)
    rows = sorted(_merged(rows + rest_rows), key=lambda row: -row["bytes"])
    mine = [
        value
        for name, value in agent.module("unpin").user_variables(agent.shell)
        if name[:2] != "__" and naming.is_data(type(value))
    ]
    return {
        "rows": rows[:ROWS],
        "found": sum(storage.bytes for storage in held.storages),
        "objects": graph.objects,
        "complete": graph.complete,
        "variables": len(mine),
        "models": len({id(value) for value in mine if kinds.of(type(value)) == "model"}),
        "gains": held.gains(rest, graph.complete, _nothing_there(agent)),
    }


class Storage:
    """A piece of GPU memory: ``bytes`` on a ``device`` of the framework ``name``, which has it by
    its ``key``, the ids of the ``arrays`` on it, the ``mask`` of the kinds of names that lead to
    it, and its ``owner``: the only name if it is a variable's, None before any, else SEVERAL.
    With ``more`` it may keep memory that isn't seen."""

    __slots__ = ("arrays", "bytes", "device", "key", "mask", "more", "name", "owner")

    def __init__(self, name: str, key: Any, size: int, device: int) -> None:
        self.name = name
        self.key = key
        self.bytes = size
        self.device = device
        self.arrays: list[int] = []
        self.mask = 0
        self.owner: int | None = None
        self.more = False


class Held:
    """Each storage, with who leads to it."""

    def __init__(
        self, frameworks: list[Any], graph: Any, children: dict[int, list[int]], roots: list[Any]
    ) -> None:
        self._variables: dict[str, int] = {}
        self._graph = graph
        marks = self._marks(children, roots)
        deep = {adapter.NAME for adapter, _ in frameworks if hasattr(adapter, "has_more")}
        self._memory = {
            adapter.NAME: adapter.memory(framework)
            for adapter, framework in frameworks
            if hasattr(adapter, "memory")
        }
        sizes = {name: memory.sizes for name, memory in self._memory.items() if memory is not None}
        found: dict[Any, Storage] = {}
        for key, (adapter, framework, storages) in graph.arrays.items():
            mask, owner = marks.get(key, (0, None))
            name = adapter.NAME
            for identity, size, device in storages:
                storage = found.get((name, identity))
                if storage is None:
                    # What it was given is what comes back.
                    size = sizes.get(name, {}).get(identity, size)
                    storage = found[name, identity] = Storage(name, identity, size, device)
                storage.arrays.append(key)
                storage.mask |= mask
                storage.owner = _both(storage.owner, owner)
                if adapter.NAME in deep and not storage.more:
                    storage.more = adapter.has_more(framework, graph.nodes[key])
        self.keys = found.keys()
        self.storages = list(found.values())
        self.unseen = sum(storage.bytes for storage in self.storages if storage.mask == UNSEEN)
        """Bytes that only what isn't seen refers to, and those without an object, too."""

    def _marks(
        self, children: dict[int, list[int]], roots: list[Any]
    ) -> dict[int, tuple[int, int | None]]:
        """By id: which kinds of names lead there, and which one if it is only one variable."""
        marks: dict[int, tuple[int, int | None]] = {}
        stack: list[tuple[int, int, int | None]]
        stack = [(key, UNSEEN, None) for key, times in self._graph.unseen.items() if times > 0]
        variables = {root.part for root in roots if root.variable is not None}
        for root in roots:
            mask = BITS.get(root.where, OTHER)
            owner: int | None = SEVERAL
            if root.variable is not None:
                owner = self._variables.setdefault(root.variable, len(self._variables))
            if mask == OUTPUT and root.part in variables:
                # Goes together with the variable, see variables.py.
                stack.append((root.part, VARIABLE, None))
            else:
                stack.append((root.part, mask, owner))
        while stack:
            key, mask, owner = stack.pop()
            had = marks.get(key, (0, None))
            has = (had[0] | mask, _both(had[1], owner))
            if has != had:
                marks[key] = has
                stack += [(child, *has) for child in children.get(key, ())]
        return marks

    def gain(self, variable: str) -> int | None:
        """Bytes that come back without that variable; None if that isn't sure."""
        owner, total = self._variables.get(variable), 0
        for storage in self.storages if owner is not None else ():
            if storage.owner == owner and not storage.mask & ~(VARIABLE | UNSEEN):
                if storage.mask & UNSEEN or (storage.more and self.unseen):
                    return None
                total += storage.bytes
        return total

    def gains(self, rest: int | None, complete: bool, empty: set[str]) -> dict[str, Any]:
        """Remedy to what it returns; ``rest`` is the bytes that nobody was found for."""
        gains = {}
        for remedy, mask in REMEDIES.items():
            sure = [storage for storage in self.storages if storage.mask == mask]
            most = [
                storage
                for storage in self.storages
                if storage.mask & ~UNSEEN == mask or storage.mask == UNSEEN
            ]
            dropped = sum(storage.bytes for storage in most)
            returned = self._returned(most)
            if remedy in empty:
                gains[remedy] = {"bytes": 0, "is": "exact"}
            elif rest is None or not complete:
                gains[remedy] = {"bytes": dropped, "is": "unknown"}
            else:
                # What stays may be in the same segments, which then stay, too.
                exact = len(sure) == len(most) and not rest and dropped - returned <= EXACT
                size = max(dropped, returned) + rest
                gains[remedy] = {"bytes": size, "is": "exact" if exact else "at-most"}
        return gains

    def _returned(self, storages: list[Storage]) -> int:
        """Bytes that the driver gets back once these are free."""
        total: int = 0
        dropped: dict[str, set[Any]] = {}
        for storage in storages:
            if self._memory.get(storage.name) is None:
                total += storage.bytes
            else:
                dropped.setdefault(storage.name, set()).add(storage.key)
        for name, keys in dropped.items():
            total += self._memory[name].returned(keys)
        return total


def _both(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one if one == other else SEVERAL


def _nothing_there(agent: Any) -> set[str]:
    """Remedies that have nothing to work on, whoever may hold what."""
    shell, unpin = agent.shell, agent.module("unpin")
    there = {
        "unpin-exceptions": bool(unpin.last_errors(shell)),
        "unpin-outputs": any(
            not any(type(value) is atom for atom in ATOMS) for value in _outputs(agent)
        ),
        "delete": any(True for _ in unpin.user_variables(shell)),
    }
    return {remedy for remedy, is_there in there.items() if not is_there}


def _outputs(agent: Any) -> Iterator[Any]:
    shell, is_output = agent.shell, agent.module("naming").is_output
    for history in (shell.history_manager.output_hist, shell.user_ns.get("_oh") or {}):
        yield from history.values()
    for names in (shell.user_ns_hidden, vars(shell.displayhook)):
        yield from (value for name, value in names.items() if is_output(name))
    if shell.last_execution_result is not None:
        yield shell.last_execution_result.result


def _rest(
    frameworks: list[Any], figures: dict[str, Any], held: Held
) -> tuple[int | None, list[dict[str, Any]]]:
    """What frameworks say is in use and no object was found for: bytes (None if one doesn't say),
    and the rows for it, those by name that the framework can name."""
    rows = []
    named: list[dict[str, Any]]
    total: int | None = 0
    for adapter, framework in frameworks:
        name = adapter.NAME
        named = getattr(adapter, "hidden", lambda _: [])(framework)
        named = [part for part in named if (name, part.get("key")) not in held.keys]
        for part in named:
            rows.append(_row(name, part["label"], part["kind"], part["bytes"], part["device"]))
        for device in figures.get(name, {"devices": []})["devices"]:
            index, live = device["index"], device["live"]
            mine = [s.bytes for s in held.storages if s.name == name and s.device == index]
            # Memory of a private pool that is free is no part of what is live.
            known = [part["bytes"] for part in named if part["device"] == index and part.get("key")]
            if live is None:
                total = None
                continue
            left = live - sum(mine) - sum(known)
            if left > ROUNDING * (len(mine) + len(known)):
                total = None if total is None else total + left
                label = f"held by {name} itself"
                rows.append(_row(name, label, "no Python object", left, index))
    return total, rows


def _merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that frameworks hold themselves, one row a kind and device."""
    merged: dict[Any, dict[str, Any]] = {}
    for at, row in enumerate(rows):
        own = row["where"] == "framework"
        key = (row["framework"], row["device"], row["label"]) if own else at
        if key in merged:
            merged[key]["bytes"] += row["bytes"]
            merged[key]["count"] += row["count"]
        else:
            merged[key] = row
    return list(merged.values())


def _row(framework: str, label: str, kind: str, size: int, device: int) -> dict[str, Any]:
    return {
        "label": label,
        "where": "framework",
        "kind": kind,
        "bytes": size,
        "device": device,
        "framework": framework,
        "shape": None,
        "dtype": None,
        "count": 1,
        "name": None,
        "gain": None,
        "also": [],
    }
