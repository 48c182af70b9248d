"""Single values as nvidia-smi writes them."""

from __future__ import annotations

import re

UNITS = {
    "": 1.0,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "%": 0.01,
    "C": 1.0,
    "W": 1.0,
    "MHz": 1.0,
    "KB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
}
"""To bytes, shares 0..1, °C, W, MHz and bytes a second."""

MOST = 2.0**53
"""No quantity is larger; beyond it, not every whole number can be told from the next."""


def number(text: str) -> float | None:
    """The value in our units, or None for whatever is not a number with a known unit, and for a
    quantity that can't be. A share is 1 at most: fans may run faster than their nominal full speed.

    >>> number("24564 MiB") == 24564 * 2**20, number("35 %"), number("[Unknown Error]")
    (True, 0.35, None)
    """
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z%/]*)", text.strip())
    if not found or found[2] not in UNITS:
        return None
    value = round(float(found[1]) * UNITS[found[2]], 6)
    if found[2] == "%":
        value = min(value, 1.0)
    return value if found[2] == "C" or 0 <= value < MOST else None


def whole(text: str) -> int | None:
    """Like `number`, for bytes."""
    value = number(text)
    return None if value is None else int(value)


def pid(text: str) -> int | None:
    """A process's number as it stands there, also one that can't be."""
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,20}\s*", text) else None


def name(text: str) -> str | None:
    """A process's name; None for the words that stand for a name that can't be read."""
    words = text.strip().strip("[]")
    if words in ("", "-", "N/A", "Not Found", "Not Supported", "Insufficient Permissions"):
        return None
    return None if words.startswith("Unknown Error") else text.strip()
