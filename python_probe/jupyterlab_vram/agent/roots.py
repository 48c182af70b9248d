"""Where everything that a notebook keeps begins. Runs in the user's kernel.

A root is a name: a variable, an output, what is kept of the last error, a running thread, a
module's global. ``stops`` are what those names are in, such as namespaces: whatever refers to one
of them doesn't matter, since what is in it stays or goes by its name.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_module: Any = types.ModuleType
_names_of_module = _module.__dict__["__dict__"].__get__


class Root:
    """``label``, ``where`` (``wire.HolderInKernel`` has the words), the id of the ``part`` that is
    named, and the ``variable`` that may be deleted, or None."""

    __slots__ = ("label", "part", "variable", "where")

    def __init__(self, label: str, where: str, part: int, variable: str | None = None) -> None:
        self.label = label
        self.where = where
        self.part = part
        self.variable = variable


class Roots:
    def __init__(self, agent: Any) -> None:
        self.naming = agent.module("naming")
        self.shell = shell = agent.shell
        self.stops: dict[int, Any] = {}
        self.own, self.threads = self._running()
        """Ids of the frames of this thread; and of the others names and frames. Of all that leads
        to memory nothing is held here, as it would be taken for somebody's."""
        self._namespaces: list[Any] = []
        unpin = agent.module("unpin")
        for history in (shell.user_ns.get("_oh"), shell.history_manager.output_hist):
            self._add(history, Roots._of_history, "output", "Out")
        self._add(shell.user_ns, Roots._of_user, "variable", "")
        self._add(shell.user_ns_hidden, Roots._of_hidden, "unknown", "")
        self._add_object(shell.displayhook, Roots._of_hook, "unknown", "displayhook")
        for keeper in unpin.keepers(shell):
            self._add_object(keeper, Roots._of_keeper, "exception", "last error")
            pdb = getattr(keeper, "pdb", None)
            if pdb is not None:
                self._add_object(pdb, Roots._of_keeper, "exception", "last error")
        for frame in unpin.emptiable(shell):
            if id(frame) not in self.own:
                self._add_frame(frame, "exception", "last error")
        for thread, frames in self.threads:
            for frame in frames:
                self._add_frame(frame, "thread", thread)
        for thread in list(_threads().values()):
            names = self.naming.namespace(thread)
            label = self._title(thread)
            self._add(thread, Roots._of_thread, "thread", label, names, label)
            self._add(names, Roots._of_thread, "thread", label, names, label)
        for name, module in list(sys.modules.items()):
            if issubclass(type(module), types.ModuleType):
                title = self.naming.word(name)
                self._add(_names_of_module(module), Roots._of_module, "module", title)
        self._add_object(agent, _of_nobody, "unknown", "this extension")
        self._add(agent.kept, _of_nobody, "unknown", "this extension")
        self._add(_event_loop(), _of_nobody, "generator", "event loop")

    def _add(self, stop: Any, names: Any, where: str, label: str, *arguments: Any) -> None:
        if stop is not None and id(stop) not in self.stops:
            self.stops[id(stop)] = stop
            # ``names`` unbound: a ring with this would keep it all until a collection.
            self._namespaces.append((id(stop), where, label, names, arguments or (stop,)))

    def _add_object(self, stop: Any, names: Any, where: str, label: str) -> None:
        """One of IPython's or ours. It is the object or its dictionary that refers to the values,
        depending on the version of Python."""
        self._add(stop, names, where, label, vars(stop))
        self._add(vars(stop), names, where, label)

    def _add_frame(self, frame: Any, where: str, thing: str) -> None:
        label = f"{thing} → {self.naming.function_name(frame.f_code)}"
        self._add(frame, Roots._of_frame, where, label, frame, where, label)

    def of(self, graph: Any, children: dict[int, list[int]]) -> Iterator[Root]:
        """The names for what leads to GPU memory."""
        for key, where, label, names, arguments in self._namespaces:
            if key in graph.nodes:
                left = set(children.get(key, ()))
                for root in names(self, *arguments):
                    if root.part in graph.nodes and root.part not in self.stops:
                        left.discard(root.part)
                        yield root
                # A key of a namespace, a frame's cells and what it was just calculating with.
                for part in left:
                    yield Root(label, where, part)
        yield from self._of_running(graph)
        for obj in list(graph.nodes.values()):
            if type(obj) is asyncio.Task and not obj.done():
                yield Root(f"task {self.naming.word(obj.get_name())}", "generator", id(obj))

    def _of_running(self, graph: Any) -> Iterator[Root]:
        """Variables of functions that other threads run: since Python 3.11 the collector doesn't
        see them. They are read only if something is held by who knows whom."""
        for thread, frames in self.threads if graph.unseen else ():
            for frame in frames:
                if id(frame) in graph.nodes:
                    continue
                label = f"{thread} → {self.naming.function_name(frame.f_code)}"
                for root in self._of_frame(frame, "thread", label):
                    if graph.unseen.get(root.part) and root.part not in self.stops:
                        graph.unseen[root.part] -= 1
                        yield root

    def _title(self, thread: Any) -> str:
        names = self.naming.namespace(thread) or {}
        return f"thread {self.naming.word(names.get('_name'))}"

    def _running(self) -> tuple[set[int], list[tuple[str, list[Any]]]]:
        own: set[int] = set()
        threads: list[tuple[str, list[Any]]] = []
        for ident, innermost in sys._current_frames().items():
            frames: list[Any] = []
            frame: Any = innermost
            while frame is not None:
                frames.append(frame)
                frame = frame.f_back
            if ident == threading.get_ident():
                own.update(map(id, frames))
            else:
                threads.append((self._title(_threads().get(ident)), frames))
        # This frame is one of them: that ring would keep all that the scan saw until a collection.
        del innermost, frames, frame
        return own, threads

    # --- by namespace ----------------------------------------------------------------------

    def _of_user(self, user: dict[str, Any]) -> Iterator[Root]:
        hidden, hook = self.shell.user_ns_hidden, self.shell.displayhook
        for key, value in list(user.items()):
            name = self.naming.variable(key)
            if name is None:
                yield Root(self.naming.keyed(key), "unknown", id(value))
                continue
            label = self.naming.word(name)
            if name in hidden and hidden[name] is value:
                yield Root(label, "output" if self.naming.is_output(name) else "unknown", id(value))
            elif name in self.naming.UNDERSCORES and getattr(hook, name) is value:
                yield Root(label, "output", id(value))
            elif name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
                yield Root(label, "unknown", id(value))
            else:
                yield Root(label, "variable", id(value), name)

    def _of_hidden(self, hidden: dict[str, Any]) -> Iterator[Root]:
        for name, value in list(hidden.items()):
            where = "output" if self.naming.is_output(name) else "unknown"
            yield Root(f"{self.naming.word(name)} (hidden)", where, id(value))

    def _of_history(self, history: dict[Any, Any]) -> Iterator[Root]:
        for number, value in list(history.items()):
            yield Root(f"Out[{self.naming.literal(number)}]", "output", id(value))

    def _of_hook(self, names: dict[str, Any]) -> Iterator[Root]:
        for name in self.naming.UNDERSCORES:
            yield Root(name, "output", id(names.get(name)))

    def _of_keeper(self, names: dict[str, Any]) -> Iterator[Root]:
        for name, value in list(names.items()):
            # An ExecutionResult has the last cell's value beside its error.
            if name == "result":
                yield Root("_ (last cell)", "output", id(value))
            else:
                yield Root("last error", "exception", id(value))

    def _of_frame(self, frame: Any, where: str, label: str) -> Iterator[Root]:
        for name, value in self.naming.local_variables(frame):
            yield Root(f"{label} → {self.naming.word(name)}", where, id(value))

    def _of_thread(self, names: dict[str, Any] | None, label: str) -> Iterator[Root]:
        for name, value in list((names or {}).items()):
            yield Root(f"{label}.{self.naming.word(name)}", "thread", id(value))

    def _of_module(self, names: dict[str, Any]) -> Iterator[Root]:
        module = self.naming.word(names.get("__name__"))
        for name, value in list(names.items()):
            if names is vars(sys) and name.startswith("last_"):
                yield Root("last error", "exception", id(value))
            else:
                yield Root(f"{module}.{self.naming.word(name)}", "module", id(value))


def _of_nobody(_: Roots, __: Any) -> Iterator[Root]:
    yield from ()


def _threads() -> dict[int, Any]:
    """Those that run, by their number."""
    return threading._active  # type: ignore[attr-defined, no-any-return]


def _event_loop() -> Any:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
