"""The list of who holds what, a row for each thing that a person can act on. Runs in the user's
kernel.

A model is one row, and so are an optimizer's state, a model's gradients, and a container with
several arrays; attributes are rows of their own. Each storage counts in one row: that of its best
name.
"""

from __future__ import annotations

from typing import Any

OTHERS = 3
"""Other names that a row has."""
NAMELESS = (1 << 60, 0)
DESCRIBED = 500
"""Arrays that are looked at for the type of number that they have in common."""
CLIMB = 2_000
"""Objects that are looked at for them, a row."""


class _Group:
    """What becomes a row: the id of what it is ``named`` after (None: nobody refers to it), its
    ``part`` of a model, and the bytes of its arrays."""

    def __init__(self, named: int | None, part: str | None, storage: Any) -> None:
        self.named = named
        self.part = part
        self.storage = storage
        self.bytes = 0
        self.arrays: set[int] = set()


class Rows:
    def __init__(self, naming: Any, graph: Any, paths: Any, roots: list[Any]) -> None:
        self._naming = naming
        self._graph = graph
        self._paths = paths
        self._roots: dict[int, list[Any]] = {}
        for root in roots:
            self._roots.setdefault(root.part, []).append(root)

    def of(self, held: Any, most: int) -> list[dict[str, Any]]:
        best = [(storage, min(storage.arrays, key=self._cost)) for storage in held.storages]
        steps = self._paths.steps
        boxes: dict[int, set[int]] = {}
        for _, array in best:
            step = steps.get(array)
            if step is not None and step.unit is None and step.box is not None:
                boxes.setdefault(step.box, set()).add(array)
        groups: dict[Any, _Group] = {}
        for storage, array in best:
            step = steps.get(array)
            part = step.part if step else None
            if step is None:
                named = None
            elif step.unit is not None:
                named = step.unit
            else:
                named = step.box if len(boxes.get(step.box, ())) > 1 else array
            # Of what nobody refers to, garbage goes by itself; the rest is in the hands of C.
            at = (named, part, storage.name, storage.device, named is None and storage.mask == 0)
            group = groups.setdefault(at, _Group(named, part, storage))
            group.bytes += storage.bytes
            group.arrays.add(array)
        largest = sorted(groups.values(), key=lambda group: -group.bytes)
        return [self._row(group, held) for group in largest[:most]]

    def _cost(self, array: int) -> tuple[int, int]:
        cost: tuple[int, int] = self._paths.costs.get(array, NAMELESS)
        return cost

    def _row(self, group: _Group, held: Any) -> dict[str, Any]:
        told = [self._describe(array) for array in list(group.arrays)[:DESCRIBED]]
        row = {
            **told[0],
            "label": "garbage in reference cycles",
            "where": "unknown",
            "bytes": group.bytes,
            "device": group.storage.device,
            "framework": group.storage.name,
            "count": len(group.arrays),
            "name": None,
            "gain": None,
            "also": [],
        }
        if len(told) > 1:
            row["shape"] = None
            if any(other["dtype"] != row["dtype"] for other in told) or len(told) == DESCRIBED:
                row["dtype"] = None
        if group.named is None:
            if not self._graph.complete:
                row["label"] = "not looked through, there are too many objects"
            elif group.storage.mask:
                row["label"] = f"held by {group.storage.name} itself"
                row["where"] = "framework"
            return row
        step = self._paths.steps[group.named]
        root = step.root
        obj = self._graph.nodes[group.named]
        row["label"] = self._paths.label(group.named)
        through = step.through
        if type(obj) is self._naming.CACHE:
            row["label"] += " → its cache"
            through = through or "closure"
        row["where"] = root.where
        if root.where in ("variable", "module", "output") and through is not None:
            row["where"] = through
        if group.part is not None:
            row["kind"] = group.part
        elif group.named not in group.arrays:
            row["kind"] = self._naming.class_name(type(obj))
        if root.variable is not None:
            row["name"] = root.variable
            row["gain"] = held.gain(root.variable)
        row["also"] = self._others(group, root)
        return row

    def _describe(self, array: int) -> dict[str, Any]:
        adapter, framework, _ = self._graph.arrays[array]
        return dict(adapter.describe(framework, self._graph.nodes[array]))

    def _others(self, group: _Group, own: Any) -> list[str]:
        """Names of others that lead to the same."""
        seen: set[int] = set()
        stack = list(group.arrays)[:CLIMB]
        labels: dict[str, None] = {}
        while stack and len(seen) < CLIMB and len(labels) < OTHERS:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            for root in self._roots.get(key, ()):
                # Outputs have many names, and so has the last error: their remedy knows them.
                if root.label != own.label and (own.where == "variable" or root.where != own.where):
                    labels[root.label] = None
            stack += self._graph.parents[key]
        return list(labels)[:OTHERS]
