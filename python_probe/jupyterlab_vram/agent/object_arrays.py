"""What NumPy's arrays of objects have in them, and with them pandas' columns. Runs in the user's
kernel.

The garbage collector sees neither such an array nor into it. Nothing of the user's runs: a
subclass's own methods are not called.
"""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any

MANY = 500_000
"""Items of an array that are looked at: a quarter of a second."""


def kind() -> Any:
    """NumPy's class of arrays, or None where nobody has imported it."""
    numpy = sys.modules.get("numpy")
    found = vars(numpy).get("ndarray") if type(numpy) is types.ModuleType else None
    return found if type(found) is type else None


def items(array: Any) -> list[Any]:
    """One after the other, whatever the shape is; the first of too many."""
    if kind().dtype.__get__(array).kind != "O":
        return []
    return list(itertools.islice(kind().flat.__get__(array), MANY))


def has_more(array: Any) -> bool:
    """Whether some items aren't looked at."""
    return kind().dtype.__get__(array).kind == "O" and bool(kind().size.__get__(array) > MANY)


def parts(array: Any) -> list[Any]:
    """Its items, and the array that it is a view of."""
    base = kind().base.__get__(array)
    return items(array) if base is None else [base]
