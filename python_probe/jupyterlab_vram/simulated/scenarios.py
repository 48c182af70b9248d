"""What a simulated machine looks like: cards by name, and whole machines.

A scenario is plain data (JSON's types): ``{"driver": {...}, "devices": [...], "processes": [...],
"errors": [...]}``. A device names a ``card`` and may set any column of `layout.Device` besides;
sizes may be text such as ``"3 GiB"``. The names of the cards say that they are invented.
"""

from __future__ import annotations

import re
from typing import Any

from . import layout
from .layout import NVML_ERRORS, STATIC, USED, Device, Driver, InjectedError, Process
from .processes import start_time

GIB, MIB = 1 << 30, 1 << 20

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def size(value: int | str) -> int:
    """Bytes from a number or from text such as ``"3 GiB"``.

    Raises ValueError for text that is no size.
    """
    if isinstance(value, int):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B?)\s*", value, re.IGNORECASE)
    unit = match and _UNITS.get(match.group(2).upper())
    if not match or not unit:
        raise ValueError(f'{value!r} is not a size. Write it like "3 GiB" or in bytes.')
    return int(float(match.group(1)) * unit)


CARDS: dict[str, dict[str, Any]] = {
    "24-gib": {
        "name": "Simulated 24 GiB",
        "total": 24 * GIB,
        "reserved": 384 * MIB,
        "temperature": 41,
        "slowdown_at": 90,
        "shutdown_at": 95,
        "max_operating": 84,
        "power": 28_000,
        "power_limit": 320_000,
        "clock_graphics": 210,
        "clock_sm": 210,
        "clock_memory": 405,
        "clock_video": 1185,
        "max_clock_graphics": 2520,
        "max_clock_sm": 2520,
        "max_clock_memory": 10_501,
        "max_clock_video": 2415,
        "fan": 30,
        "fans": 2,
        "performance_state": 8,
    },
    "80-gib": {
        "name": "Simulated 80 GiB",
        "total": 80 * GIB,
        "reserved": 640 * MIB,
        "bar1_total": 128 * GIB,
        "temperature": 33,
        "memory_temperature": 38,
        "slowdown_at": 87,
        "shutdown_at": 92,
        "max_operating": 87,
        "power": 70_000,
        "power_limit": 700_000,
        "clock_graphics": 345,
        "clock_sm": 345,
        "clock_memory": 2619,
        "clock_video": 765,
        "max_clock_graphics": 1980,
        "max_clock_sm": 1980,
        "max_clock_memory": 2619,
        "max_clock_video": 1545,
        "performance_state": 0,
        "persistence": 1,
        "ecc_errors": 0,
        "pcie_generation": 5,
        "nvlinks": 4,
        "brand": 14,
        "architecture": 9,
        "cc_major": 9,
        "cc_minor": 0,
        "multiprocessors": 132,
        "mig_mode": 0,
    },
    "unified": {
        "name": "Simulated, shares the system's memory",
        "total": 0,
        "no_memory_info": 1,
        "temperature": 47,
        "power": 9_000,
        "clock_sm": 208,
        "clock_memory": None,
        "architecture": 10,
        "cc_major": 12,
        "cc_minor": 1,
        "multiprocessors": 48,
    },
}

SCENARIOS: dict[str, dict[str, Any]] = {
    "default": {"devices": [{"card": "24-gib"}]},
    # A shared workstation: one card at work, one idle, one with Windows' driver model.
    "lab": {
        "devices": [
            {
                "card": "24-gib",
                "gpu_use": 97,
                "memory_use": 61,
                "temperature": 79,
                "power": 301_500,
                "fan": 68,
                "performance_state": 2,
                "clock_sm": 2400,
                "clock_graphics": 2400,
                "clock_memory": 10_251,
                "throttling": 4,
                "other_used": "212 MiB",
                "display_active": 1,
            },
            {"card": "80-gib"},
            {"card": "24-gib", "name": "Simulated 24 GiB (WDDM)", "wddm": 1},
        ],
        "processes": [
            {"pid": 1, "device": 0, "bytes": "3 GiB", "name": "trainer"},
            {"pid": 1, "device": 0, "bytes": "120 MiB", "lists": 2, "name": "Xorg"},
            {"pid": 999_999, "device": 1, "bytes": "5 GiB", "name": "ghost"},
            {"pid": 1, "device": 2, "bytes": 0, "lists": 3},
        ],
    },
    # One card in slices.
    "mig": {
        "devices": [
            {"card": "80-gib", "mig_mode": 1},
            {
                "card": "80-gib",
                "name": "Simulated 80 GiB MIG 3g.40gb",
                "total": "40448 MiB",
                "mig_mode": None,
                "parent": 0,
                "gpu_instance": 1,
                "compute_instance": 0,
            },
            {
                "card": "80-gib",
                "name": "Simulated 80 GiB MIG 1g.10gb",
                "total": "9856 MiB",
                "mig_mode": None,
                "parent": 0,
                "gpu_instance": 9,
                "compute_instance": 0,
            },
        ],
    },
    "eight": {"devices": [{"card": "80-gib"} for _ in range(8)]},
    "unified": {"devices": [{"card": "unified"}]},
    "no-devices": {"devices": []},
    "no-driver": {
        "devices": [],
        "errors": [{"function": "nvmlInit*", "code": "DRIVER_NOT_LOADED"}],
    },
}


def expand(device: dict[str, Any], index: int) -> dict[str, Any]:
    """A scenario's device as columns of `layout.Device`, with an identity made from its index.

    Raises KeyError for a card that doesn't exist.
    """
    kind = "GPU" if device.get("parent") is None else "MIG"
    values = {
        "uuid": f"{kind}-51000000-0000-4000-8000-{index + 1:012x}",
        "bus_id": f"00000000:{index + 1:02X}:00.0",
        **(CARDS[device["card"]] if "card" in device else {}),
        **{name: value for name, value in device.items() if name != "card"},
    }
    for name in ("total", "reserved", "other_used", "bar1_total"):
        if name in values:
            values[name] = size(values[name])
    return values


def _fill(kind: type[Any], row: Any, values: dict[str, Any]) -> None:
    layout.store(kind, row, {**vars(kind()), **values})


def image(scenario: dict[str, Any]) -> Any:
    """A new ledger's content, a `layout.File`.

    Raises KeyError for a card, column or error code that doesn't exist, ValueError for a size.
    """
    content: Any = layout.File()
    content.magic, content.version, content.size = layout.HEAD
    _fill(Driver, content.driver, scenario.get("driver", {}))
    content.device_count = len(scenario["devices"])
    for i, device in enumerate(scenario["devices"]):
        _fill(Device, content.devices[i], expand(device, i))
    for i, process in enumerate(scenario.get("processes", [])):
        values = {**process, "bytes": size(process["bytes"])}
        values.setdefault("started", start_time(process["pid"]) or 0)
        values["flags"] = USED | STATIC | process.get("flags", 0)
        _fill(Process, content.processes[i], values)
        content.process_rows = i + 1
    for i, error in enumerate(scenario.get("errors", [])):
        code = error.get("code", 0)
        values = {**error, "code": NVML_ERRORS[code] if isinstance(code, str) else code}
        _fill(InjectedError, content.errors[i], values)
    return content
