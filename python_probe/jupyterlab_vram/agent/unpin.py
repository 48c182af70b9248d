"""Lets go of what IPython keeps of the past. Runs in the user's kernel, see ``handlers.py``.

``unpin-exceptions``: the last error, with its whole chain, refers to the frames of the functions
that it went through, and those to all their variables. The frames are emptied where they can be:
``%tb`` still prints, and only ``%debug`` has nothing to show. Where the error itself refers to GPU
memory (``AttributeError.obj``, an argument), IPython's references to it are dropped as well.

``unpin-outputs`` (``all``: also those without GPU memory): ``Out``, ``_``, ``_5`` and IPython's
other references to what a cell showed.

Found by trying, on Python 3.8 to 3.13 with ipykernel 6.29 and 7.4.
"""

from __future__ import annotations

import collections
import gc
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    def sibling(name: str) -> Any: ...


LAST = ("last_exc", "last_value", "last_traceback", "last_type")
UNDERSCORES = ("_", "__", "___")
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
MANY = 10_000
"""Items of one container that are looked at for errors."""
GENERATORS = (
    (types.GeneratorType, "gi_code", "gi_frame"),
    (types.CoroutineType, "cr_code", "cr_frame"),
    (types.AsyncGeneratorType, "ag_code", "ag_frame"),
)
GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
HAS_SNAPSHOTS = sys.version_info < (3, 13)
"""A frame's f_locals was a dict that the frame kept, before PEP 667."""


def exceptions(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """``dropped``: how many errors' frames were emptied, or were dropped themselves."""
    shell = agent.shell
    errors = _Errors(last_errors(shell))
    theirs = _theirs(shell, errors)
    _end_debugger(shell)
    left = errors.empty([other for _, other in theirs])
    texts = []
    if errors.still_hold(agent):
        _drop(shell)
        texts.append(
            "The last error itself referred to GPU memory, so IPython has forgotten it: %tb and "
            "%debug have nothing to show until the next one."
        )
    if left:
        texts.append(f"Left as it is, for it is still in use: {listed(left)}.")
    if theirs:
        texts.append(
            f"The last error is also in {listed([name for name, _ in theirs])}, which is yours "
            "and was left as it is. Delete it to let go of what the error refers to."
        )
    return {"dropped": len(errors.emptied), "text": " ".join(texts) or None}


def outputs(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """``dropped``: how many outputs were let go."""
    forget_inspected(agent.kernel)
    if request.get("all"):
        return {"dropped": drop_outputs(agent.shell, lambda value: True)}
    module = agent.module("reach")
    reach = module.Reach(agent)
    large = []

    def holds(value: Any) -> bool:
        try:
            return bool(reach.holds(value))
        except module.TooMany:
            large.append(type.__dict__["__name__"].__get__(type(value)))
            return False

    dropped = drop_outputs(agent.shell, holds)
    text = None
    if large:
        text = (
            f"Not looked through, as it has too many parts: an output that is a {listed(large)}. "
            "It stays unless all outputs are dropped."
        )
    return {"dropped": dropped, "text": text}


# --- outputs ------------------------------------------------------------------------------------


def drop_outputs(shell: Any, chosen: Callable[[Any], bool]) -> int:
    """Drop the outputs that are ``chosen`` in every place where IPython keeps them.

    A variable of the user's stays, also if it is the same object, and so does a ``_`` that the
    user has assigned. Returns how many outputs (numbers, as in ``Out[5]``) it were.
    """
    user, hidden, hook = shell.user_ns, shell.user_ns_hidden, shell.displayhook
    histories = [user.get("_oh"), shell.history_manager.output_hist]
    histories = [history for history in histories if type(history) is dict]
    results = [shell.last_execution_result, hook.exec_result]
    results = [result for result in results if result is not None]
    numbered = [name for name in hidden if name[:1] == "_" and name[1:].isdigit()]

    # Decided before anything is dropped, once an object: a freed object's identity is used again.
    values = {id(value): value for history in histories for value in history.values()}
    values.update((id(hidden[name]), hidden[name]) for name in numbered)
    values.update((id(getattr(hook, name)), getattr(hook, name)) for name in UNDERSCORES)
    values.update((id(hidden[name]), hidden[name]) for name in UNDERSCORES if name in hidden)
    values.update((id(result.result), result.result) for result in results)
    gone = {key for key, value in values.items() if chosen(value)}

    dropped = set()
    for history in histories:
        for number, value in list(history.items()):
            if id(value) in gone:
                del history[number]
                dropped.add(f"_{number}")
                if user.get(f"_{number}") is value:
                    del user[f"_{number}"]
    for name in numbered:
        value = hidden[name]
        if id(value) in gone:
            dropped.add(name)
            if user.get(name) is value:
                del user[name]
            del hidden[name]
    for name in UNDERSCORES:
        for value in (getattr(hook, name), hidden.get(name)):
            if id(value) in gone:
                if user.get(name) is value:
                    user[name] = ""
                if hidden.get(name) is value:
                    hidden[name] = ""
        if id(getattr(hook, name)) in gone:
            setattr(hook, name, "")
    for result in results:
        if id(result.result) in gone:
            result.result = None
    return len(dropped)


def forget_inspected(kernel: Any) -> None:
    """The debugger's list of variables keeps all values that it has listed; JupyterLab asks for a
    new list after each cell."""
    debugger: Any = getattr(kernel, "debugger", None)
    explorer = getattr(debugger, "variable_explorer", None)
    if explorer is not None and explorer.frame is not None:
        debugger.variable_explorer = type(explorer)()


# --- errors -------------------------------------------------------------------------------------


def user_variables(shell: Any) -> Iterator[tuple[str, Any]]:
    """Names and values in the user's namespace, without what IPython has put there."""
    hidden, naming = shell.user_ns_hidden, sibling("naming")
    for key, value in list(shell.user_ns.items()):
        if key not in hidden or hidden[key] is not value:
            name = naming.variable(key)
            yield naming.keyed(key) if name is None else name, value


def last_errors(shell: Any) -> list[Any]:
    """The errors, tracebacks and frames that Python and IPython keep of the last one."""
    found: list[Any] = [getattr(sys, name, None) for name in LAST[:3]]
    for keeper in keepers(shell):
        for names in (vars(keeper), vars(getattr(keeper, "pdb", None) or keeper)):
            # A cell's value is an output, also if it is an error.
            found += [value for name, value in names.items() if name != "result"]
    return [value for value in found if is_error(value)]


def emptiable(shell: Any) -> list[Any]:
    """The frames that ``exceptions`` would empty, and those that run as it looks."""
    errors = _Errors(last_errors(shell))
    left = _suspended(errors.frames)
    for _, other in _theirs(shell, errors):
        left.update(other.frames)
    return [frame for key, frame in errors.frames.items() if key not in left]


def _theirs(shell: Any, errors: _Errors) -> list[tuple[str, _Errors]]:
    """The user's variables with some of these errors, and what they have."""
    theirs = [(name, _Errors(parts)) for name, parts in _of_the_user(shell)]
    return [(name, other) for name, other in theirs if not other.isdisjoint(errors)]


def keepers(shell: Any) -> list[Any]:
    """IPython's objects with an error, a traceback or a frame as an attribute."""
    keepers = [
        shell.InteractiveTB,
        shell.SyntaxTB,
        shell.last_execution_result,
        shell.displayhook.exec_result,
    ]
    return [keeper for keeper in keepers if keeper is not None]


def _drop(shell: Any) -> None:
    for name in LAST:
        vars(sys).pop(name, None)
    for keeper in keepers(shell):
        for name, value in list(vars(keeper).items()):
            if is_error(value) and name != "result":
                # Not deleted: IPython expects some of them to be there.
                setattr(keeper, name, None)


def _end_debugger(shell: Any) -> None:
    """Of an earlier %debug: it keeps frames and their variables. The next %debug makes another."""
    debugger = getattr(shell.InteractiveTB, "pdb", None)
    if debugger is not None:
        shell.InteractiveTB.pdb = None
        vars(debugger).clear()


def _of_the_user(shell: Any) -> Iterator[tuple[str, list[Any]]]:
    """The user's variables that are errors or have some in them, and those errors."""
    for name, value in user_variables(shell):
        errors = [part for part in _inside(value) if is_error(part)]
        if errors:
            yield name, errors


def _inside(value: Any) -> list[Any]:
    """The items of a plain container; anything else is its own only item."""
    kind = type(value)
    if not any(kind is plain for plain in CONTAINERS) or len(value) > MANY:
        return [value]
    return list(value.values()) if kind is dict else list(value)


def is_error(value: Any) -> bool:
    return issubclass(type(value), (BaseException, types.TracebackType, types.FrameType))


class _Errors:
    """Errors, with all that they chain to and the frames that those went through."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.errors: dict[int, BaseException] = {}
        self.frames: dict[int, Any] = {}
        """Those of the tracebacks, and the functions' callers, which a frame also refers to."""
        self.raised: set[int] = set()
        """Frames of the tracebacks alone."""
        self.emptied: list[BaseException] = []
        self._left: set[int] = set()
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            value = stack.pop()
            if id(value) in seen or not is_error(value):
                continue
            seen.add(id(value))
            if type(value) is types.TracebackType:
                self.raised.add(id(value.tb_frame))
                stack += [value.tb_frame, value.tb_next]
            elif type(value) is types.FrameType:
                self.frames[id(value)] = value
                stack.append(value.f_back)
            else:
                self.errors[id(value)] = value
                # Its cause and context; an ExceptionGroup's members, also of the group that
                # Python 3.8 has from PyPI, and what somebody's own class has as an attribute.
                for part in gc.get_referents(value):
                    for inner in _inside(part):
                        stack += _inside(inner)

    def isdisjoint(self, other: _Errors) -> bool:
        return self.errors.keys().isdisjoint(other.errors) and self.raised.isdisjoint(other.raised)

    def empty(self, others: list[_Errors]) -> list[str]:
        """Empty the frames, except those of ``others``. Returns functions left as they are."""
        self._left = {key for other in others for key in (*other.errors, *other.frames)}
        self.emptied = [error for key, error in self.errors.items() if key not in self._left]
        functions = []
        suspended = _suspended(self.frames)
        # All are cleared before it is looked who else has their variables: often another of them.
        cleared = {
            key
            for key, frame in self.frames.items()
            if key not in self._left and key not in suspended and _clear(frame)
        }
        for key, frame in self.frames.items():
            if key in self._left or (key in cleared and _forget_snapshot(frame)):
                continue
            self._left.add(key)
            # That the kernel itself goes on, which called the first function, is no news.
            if key in self.raised:
                functions.append(frame.f_code.co_name)
        return functions

    def still_hold(self, agent: Any) -> bool:
        """Whether the errors refer to GPU memory that the user's variables do not, other than by
        the frames that were left: only then it helps to drop them."""
        module = agent.module("reach")
        reach = module.Reach(agent)
        try:
            found = reach.storages(self.emptied, self._left).keys()
            if not found:
                return False
            variables = [value for _, value in user_variables(agent.shell)]
            return not found <= reach.storages(variables, map(id, self.emptied)).keys()
        except module.TooMany:
            return True


def _suspended(frames: dict[int, Any]) -> set[int]:
    """Those of generators and coroutines that wait; to clear such a frame would end it."""
    codes = {id(frame.f_code) for frame in frames.values() if frame.f_code.co_flags & GENERATOR}
    if not codes:
        return set()
    one, two, three = (kind for kind, _, _ in GENERATORS)
    found = set()
    # Written out, as it is the same for a million objects.
    for obj in [
        o for o in gc.get_objects() if type(o) is one or type(o) is two or type(o) is three
    ]:
        for kind, code, frame in GENERATORS:
            if type(obj) is kind and id(getattr(obj, code)) in codes:
                found.add(id(getattr(obj, frame)))
    return found


def _clear(frame: Any) -> bool:
    """Let go of a frame's variables. False if it still runs."""
    try:
        frame.clear()
    except RuntimeError:
        return False
    return True


def _forget_snapshot(frame: Any) -> bool:
    """Let go of the dict that locals() gives. False if somebody else has it, too."""
    if HAS_SNAPSHOTS and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        for snapshot in [part for part in gc.get_referents(frame) if type(part) is dict]:
            if snapshot is frame.f_globals or snapshot is frame.f_builtins:
                continue
            # ``seen = locals()``: it is a variable, too, so that it is in itself.
            own = sum(value is snapshot for value in snapshot.values())
            # The frame, the list here, ``snapshot`` and the call's argument are four.
            if sys.getrefcount(snapshot) > 4 + own:
                return False
        # Brings that dict up to date with the frame, which has no variables any more.
        frame.f_locals  # noqa: B018
    return True


def listed(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in dict.fromkeys(names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
