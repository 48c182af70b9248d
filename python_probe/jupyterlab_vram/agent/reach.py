"""Which GPU memory an object refers to. Runs in the user's kernel, see ``handlers.py``.

A walk over what the garbage collector sees, so that no code of the user's runs: no attribute is
read of an object whose type isn't known. It stays with what an object *has*: it follows neither
classes, modules, a function's globals and a frame's caller, nor IPython, the kernel and an event
loop, by which everything refers to everything.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


LIMIT = 1_000_000
"""Objects that a request's walks look at together: about a second."""

ATOMS = (int, float, complex, str, bytes, type(None))
ENDS = (*ATOMS, types.CodeType, type, types.ModuleType, asyncio.AbstractEventLoop)


class TooMany(Exception):
    """The walks looked at ``LIMIT`` objects and there are more."""


class Reach:
    """Walks that share what they have learned; made for one request, as it keeps identities."""

    def __init__(self, agent: Any) -> None:
        self._frameworks = [
            (adapter, framework)
            for adapter, framework in agent.frameworks()
            if hasattr(adapter, "storages")
        ]
        # By identity, with the class to keep that valid: a metaclass may have its own __hash__.
        self._kinds: dict[int, tuple[type, Any]] = {}
        shell = agent.shell
        self._ends = {id(end) for end in (agent, agent.kernel, shell, agent.kept, sys.modules)}
        self._ends.update(map(id, shell.all_ns_refs))
        names = vars(types.ModuleType)["__dict__"]  # A lazy module wakes when it is asked itself.
        for module in list(sys.modules.values()):
            if issubclass(type(module), types.ModuleType):
                self._ends.add(id(names.__get__(module)))
        self._clean: set[int] = set()
        self._left = LIMIT

    def holds(self, root: Any) -> bool:
        """Whether there is any. Raises TooMany. ``root`` must stay alive until the last walk."""
        seen: set[int] = set()
        for _ in self._walk([root], seen):
            return True
        # Whoever meets one of these later needn't look behind it again.
        self._clean |= seen
        return False

    def storages(self, roots: Iterable[Any], ends: Iterable[int] = ()) -> dict[Any, int]:
        """Key of each storage to its bytes. Raises TooMany.

        Args:
            ends: identities of objects not to look behind.
        """
        return dict(self._walk(list(roots), set(ends)))

    def _walk(self, roots: list[Any], seen: set[int]) -> Iterator[tuple[Any, int]]:
        stack = roots
        while stack:
            obj = stack.pop()
            kind = type(obj)
            if id(kind) not in self._kinds:
                self._kinds[id(kind)] = kind, self._kind(kind)
            found = self._kinds[id(kind)][1]
            if found is None:
                continue
            key = id(obj)
            if key in seen or key in self._clean or key in self._ends:
                continue
            seen.add(key)
            self._left -= 1
            if self._left < 0:
                raise TooMany
            if found:
                adapter, framework = found
                for storage, size, _ in adapter.storages(framework, obj):
                    yield (adapter.NAME, storage), size
                if hasattr(adapter, "gradient"):
                    # Not onto the stack: made for the question, it is gone when it is answered.
                    for storage, size, _ in _gradients(adapter, framework, obj):
                        yield (adapter.NAME, storage), size
            stack.extend(_parts(obj, kind))

    def _kind(self, kind: type) -> Any:
        """None to end at it, the adapter and the framework of an array's, else ()."""
        for adapter, framework in self._frameworks:
            if adapter.is_array(framework, kind):
                return adapter, framework
        return None if issubclass(kind, ENDS) else ()


def _gradients(adapter: Any, framework: Any, obj: Any) -> Iterable[tuple[Any, int, int]]:
    gradient = adapter.gradient(framework, obj)
    return () if gradient is None else adapter.storages(framework, gradient)


def _parts(obj: Any, kind: type) -> Iterable[Any]:
    if kind is types.FunctionType:
        own = [obj.__closure__, obj.__defaults__, obj.__kwdefaults__, obj.__dict__]
        return own + _unnamed(obj.__globals__)
    object_arrays = sibling("object_arrays")
    if kind is object_arrays.kind():
        if object_arrays.has_more(obj):
            raise TooMany
        return object_arrays.parts(obj)  # type: ignore[no-any-return]
    parts = gc.get_referents(obj)
    if kind is types.FrameType:
        others = (obj.f_globals, obj.f_builtins, obj.f_back)
        own = [part for part in parts if not any(part is other for other in others)]
        return own + _unnamed(obj.f_globals)
    return parts


def _unnamed(names: dict[str, Any]) -> list[Any]:
    """Globals that are no module's: a dict given to exec."""
    return [] if "__name__" in names else [names]
