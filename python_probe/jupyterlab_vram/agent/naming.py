"""What a person would call the parts of an object. Runs in the user's kernel.

Nothing here runs code of the user's: attributes are read where the interpreter keeps them (an
instance's own dictionary, slots, a function's closure), never by ``getattr``; classes by
``type``'s own descriptors. Whatever comes out as text is printable and short.
"""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    def sibling(name: str) -> Any:
        """Another of the agent's files, see ``bootstrap.py``."""


STEP, INSIDE, DETOUR = 100, 1_000, 300
"""Costs of a link: to an attribute or an item, into a function's or an error's variables, and to
what has no name."""
GENERATORS = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}
UNDERSCORES = ("_", "__", "___")
CACHE = type(functools.lru_cache(maxsize=None)(id))

INSTANCES = 20_000
"""Whose attributes are named. Python 3.11 and 3.12 make a dictionary to tell them, and keep it."""

_type: Any = type
_module: Any = types.ModuleType
_name = _type.__dict__["__name__"].__get__
_mro = _type.__dict__["__mro__"].__get__
_names_in = _type.__dict__["__dict__"].__get__
_module_names = _module.__dict__["__dict__"].__get__


def is_output(name: str) -> bool:
    """Whether IPython gives this name to what a cell showed."""
    return name in UNDERSCORES or (name[:1] == "_" and name[1:].isdigit())


def variable(key: Any) -> str | None:
    """A namespace's key as a plain text; None if no message can carry it: ``globals()[5] = x``."""
    if not issubclass(type(key), str):
        return None
    name = str.__str__(key)
    return None if any("\ud800" <= letter <= "\udfff" for letter in name) else name


def keyed(key: Any) -> str:
    """What is shown for a variable without a name."""
    return f"globals()[{literal(key)}]"


def word(text: Any, most: int = 60) -> str:
    if not issubclass(type(text), str):
        return "?"
    text = str.__str__(text)
    short = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(letter if letter.isprintable() else "?" for letter in short)


def literal(key: Any) -> str:
    """As an index is written: ``3``, ``"teacher"``; of no other kind of key is its text asked."""
    if type(key) is str:
        return f'"{word(key, 40)}"'
    # Of a very long number Python refuses to make a text.
    if any(type(key) is kind for kind in (float, bool, type(None))) or (
        type(key) is int and key.bit_length() < 128
    ):
        return word(repr(key), 40)
    return "…"


def class_name(cls: type) -> str:
    return word(_name(cls))


def is_one_of(cls: type, names: tuple[str, ...]) -> bool:
    """Whether the class or a base of it is named there, as ``module.Class``."""
    for base in _mro(cls):
        module = _names_in(base).get("__module__")
        if type(module) is str and f"{module}.{_name(base)}" in names:
            return True
    return False


def is_data(cls: type) -> bool:
    """Not what comes with the code: modules, functions, classes."""
    return not issubclass(cls, (types.ModuleType, types.FunctionType, type))


def module_names(module: Any) -> dict[str, Any]:
    """A module's namespace; a lazy one stays asleep."""
    return dict.copy(_module_names(module) or {})


class Links:
    """Who refers to whom by which name, among some objects (by id). Kept for one request only."""

    def __init__(self, among: Any) -> None:
        self.among = among
        object_arrays = sibling("object_arrays")
        self._object_array, self._in_object_array = object_arrays.kind(), object_arrays.items
        self._left = INSTANCES
        self._members: dict[int, list[tuple[str, Any]]] = {}
        # By id: to be hashed, a class asks its metaclass, which may be the user's.

    def of(self, obj: Any) -> Iterator[tuple[str, Any, Any, int]]:
        """``(how, name, part, cost)`` of the parts of ``obj`` that are among them."""
        for how, name, part, cost in self._parts(obj):
            if id(part) in self.among:
                yield how, name, part, cost

    def _parts(self, obj: Any) -> Iterator[tuple[str, Any, Any, int]]:
        cls, among = type(obj), self.among
        if issubclass(cls, dict):
            for key, value in list(dict.items(obj)):
                if id(value) in among:
                    yield "[", key, value, STEP
                if id(key) in among:
                    yield "", None, key, DETOUR
        elif issubclass(cls, (list, tuple, collections.deque)):
            plain = next(base for base in (list, tuple, collections.deque) if issubclass(cls, base))
            for index, value in enumerate(list(plain.__iter__(obj))):
                if id(value) in among:
                    field = _field(cls, index) if plain is tuple else None
                    yield ("[", index, value, STEP) if field is None else (".", field, value, STEP)
        elif id(cls) in _SPECIAL:
            yield from _SPECIAL[id(cls)](obj)
        elif cls is self._object_array:
            for index, value in enumerate(self._in_object_array(obj)):
                yield "[", index, value, STEP
            yield "", None, cls.base.__get__(obj), STEP
        elif issubclass(cls, BaseException):
            for attribute in ("__traceback__", "__context__", "__cause__"):
                yield "", None, BaseException.__dict__[attribute].__get__(obj), STEP
            yield ".", "args", BaseException.__dict__["args"].__get__(obj), STEP
        elif issubclass(cls, (type, types.ModuleType)):
            names = _names_in(obj) if issubclass(cls, type) else module_names(obj)
            for name, value in list(names.items()):
                yield ".", name, value, STEP
        for name, value in self.attributes(obj, cls):
            yield ".", name, value, STEP
        # What has no name, or none that a person would use.
        price = DETOUR if id(cls) not in _SPECIAL else INSIDE * 3
        for part in gc.get_referents(obj):
            yield "", None, part, price

    def attributes(self, obj: Any, cls: type) -> Iterator[tuple[str, Any]]:
        """The instance's own, by name."""
        if id(cls) not in self._members:
            self._members[id(cls)] = _members(cls)
        for name, member in self._members[id(cls)]:
            if name == "__dict__":
                if self._left == 0:
                    continue
                self._left -= 1
            try:
                value = type(member).__get__(member, obj)
            except (AttributeError, TypeError):  # A slot with nothing in it.
                continue
            if name != "__dict__":
                yield name, value
            elif type(value) is dict:
                yield from list(value.items())


def _members(cls: type) -> list[tuple[str, Any]]:
    """Where instances keep their attributes. A class may define a property named ``__dict__``:
    only the interpreter's own descriptors are asked."""
    found = []
    for base in _mro(cls):
        for name, member in list(_names_in(base).items()):
            kind = type(member)
            if (name == "__dict__" and kind is types.GetSetDescriptorType) or (
                kind is types.MemberDescriptorType
                and id(cls) not in _SPECIAL
                and name != "__weakref__"
            ):
                found.append((name, member))
    return found


def _field(cls: type, index: int) -> Any:
    """Of a named tuple."""
    for base in _mro(cls):
        fields = _names_in(base).get("_fields")
        if type(fields) is tuple and index < len(fields):
            return fields[index]
    return None


def _of_function(function: Any) -> Iterator[tuple[str, Any, Any, int]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):  # noqa: B905 - Python 3.8
        try:
            yield " → ", name, cell.cell_contents, INSIDE
        except ValueError:  # Nothing in it yet.
            continue
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    for name, value in zip(positional[len(positional) - len(defaults) :], defaults):  # noqa: B905
        yield " → ", name, value, INSIDE
    for name, value in (function.__kwdefaults__ or {}).items():
        yield " → ", name, value, INSIDE


def _of_method(method: Any) -> Iterator[tuple[str, Any, Any, int]]:
    yield "", None, method.__self__, STEP
    yield "", None, method.__func__, STEP


def _of_traceback(traceback: Any) -> Iterator[tuple[str, Any, Any, int]]:
    yield "", None, traceback.tb_next, STEP
    frame = traceback.tb_frame
    yield " → ", function_name(frame.f_code), frame, INSIDE


def _of_frame(frame: Any) -> Iterator[tuple[str, Any, Any, int]]:
    for name, value in local_variables(frame):
        yield " → ", name, value, STEP


def _of_generator(generator: Any) -> Iterator[tuple[str, Any, Any, int]]:
    frame = getattr(generator, GENERATORS[type(generator)])
    if frame is not None:
        for name, value in local_variables(frame):
            yield " → ", name, value, INSIDE


def _of_cache(cached: Any) -> Iterator[tuple[str, Any, Any, int]]:
    for part in gc.get_referents(cached):
        yield " → ", "its cache", part, INSIDE


_SPECIAL: dict[int, Any] = {
    id(types.FunctionType): _of_function,
    id(types.MethodType): _of_method,
    id(types.TracebackType): _of_traceback,
    id(types.FrameType): _of_frame,
    id(CACHE): _of_cache,
    **{id(kind): _of_generator for kind in GENERATORS},
}


def namespace(obj: Any) -> dict[str, Any] | None:
    """The dictionary of the instance's own attributes, if it has one."""
    for name, member in _members(type(obj)):
        if name == "__dict__":
            value = type(member).__get__(member, obj)
            return value if type(value) is dict else None
    return None


def suffix(how: str, name: Any) -> str:
    if how == "[":
        return f"[{literal(name)}]"
    return how + word(name) if how else ""


def function_name(code: Any) -> str:
    """A cell's own code has a name that only Python uses."""
    return "cell" if code.co_name == "<module>" else word(code.co_name)


def local_variables(frame: Any) -> list[tuple[str, Any]]:
    """A frame's variables, leaving nothing behind.

    Up to Python 3.12 a function's ``f_locals`` is a copy that its frame keeps, so that what is in
    it lives as long as the frame: if it was made by asking, it is emptied again.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        # A class's or a cell's namespace itself, which is somebody's to keep.
        namespace = frame.f_locals
        return list(namespace.items()) if type(namespace) is dict else []
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.items())
    before = set(map(id, gc.get_referents(frame)))
    copy = frame.f_locals
    found = list(copy.items())
    if id(copy) not in before and sys.getrefcount(copy) <= 3:
        copy.clear()
    return found
