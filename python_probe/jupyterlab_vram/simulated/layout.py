"""The layout of the simulated GPU's ledger file, defined once.

The dataclasses here are what Python code reads and writes; their columns also give the ctypes
structures that are laid over the file and the C header that the simulated driver is built with.
Python >= 3.8, standard library only: notebook kernels import this.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

MAGIC = 0x4D525653
VERSION = 2
"""Raised when a column changes; a file of another version is refused."""

DEVICES, PROCESSES, ERRORS, CALLS = 16, 1024, 64, 256
GRANULARITY = 2 << 20
"""The driver hands out memory in steps of 2 MiB."""

COMPUTE, GRAPHICS, MPS = 1, 2, 4
"""Bits of `Process.lists`: the driver's lists that name the process."""

USED, STATIC, ZOMBIE, NO_SIZE, HIDDEN, CONTEXT = 1, 2, 4, 8, 16, 32
"""Bits of `Process.flags`.

USED: the row is taken. STATIC: invented by a scenario, so its pid need not exist and is never
reaped. ZOMBIE: the process is dead and its memory stayed. NO_SIZE: listed without a size.
HIDDEN: counted in the device's memory, missing from the lists. CONTEXT: has paid for its context.
"""

NVML_ERRORS: dict[str, int] = {
    "UNINITIALIZED": 1,
    "INVALID_ARGUMENT": 2,
    "NOT_SUPPORTED": 3,
    "NO_PERMISSION": 4,
    "NOT_FOUND": 6,
    "INSUFFICIENT_SIZE": 7,
    "DRIVER_NOT_LOADED": 9,
    "TIMEOUT": 10,
    "LIBRARY_NOT_FOUND": 12,
    "FUNCTION_NOT_FOUND": 13,
    "GPU_IS_LOST": 15,
    "RESET_REQUIRED": 16,
    "OPERATING_SYSTEM": 17,
    "LIB_RM_VERSION_MISMATCH": 18,
    "IN_USE": 19,
    "MEMORY": 20,
    "NO_DATA": 21,
    "ARGUMENT_VERSION_MISMATCH": 25,
    "UNKNOWN": 999,
}
"""Error codes that can be injected by name (nvml.h, nvmlReturn_t)."""


def column(kind: str, default: Any) -> Any:
    """A field of a row.

    ``kind`` is ``cN`` (text of N - 1 bytes), ``i`` (int32), ``u`` (uint32), ``q`` (uint64) or
    ``n`` (int32 that may be None: "the driver doesn't support it", -1 in the file).
    """
    return field(default=default, metadata={"kind": kind})


@dataclass(frozen=True)
class Device:
    """A GPU, or a MIG slice of one."""

    name: str = column("c96", "")
    uuid: str = column("c80", "")
    bus_id: str = column("c32", "")
    serial: str = column("c32", "")
    total: int = column("q", 0)
    """Bytes."""
    reserved: int = column("q", 0)
    """Bytes that the driver keeps for itself."""
    other_used: int = column("q", 0)
    """Bytes in use that no process in the lists accounts for."""
    bar1_total: int = column("q", 256 << 20)
    throttling: int = column("q", 0)
    """NVML's bit mask of reasons (nvmlClocksEventReason*)."""
    gpu_use: int | None = column("n", 0)
    """Percent, like the three below."""
    memory_use: int | None = column("n", 0)
    encoder_use: int | None = column("n", 0)
    decoder_use: int | None = column("n", 0)
    temperature: int | None = column("n", None)
    """°C, like the four below."""
    memory_temperature: int | None = column("n", None)
    slowdown_at: int | None = column("n", None)
    shutdown_at: int | None = column("n", None)
    max_operating: int | None = column("n", None)
    power: int | None = column("n", None)
    """Milliwatts, like the limit."""
    power_limit: int | None = column("n", None)
    clock_graphics: int | None = column("n", None)
    """MHz, like the seven below."""
    clock_sm: int | None = column("n", None)
    clock_memory: int | None = column("n", None)
    clock_video: int | None = column("n", None)
    max_clock_graphics: int | None = column("n", None)
    max_clock_sm: int | None = column("n", None)
    max_clock_memory: int | None = column("n", None)
    max_clock_video: int | None = column("n", None)
    fan: int | None = column("n", None)
    """Percent."""
    fans: int = column("i", 0)
    performance_state: int | None = column("n", 0)
    persistence: int | None = column("n", 0)
    compute_mode: int | None = column("n", 0)
    display_active: int | None = column("n", 0)
    ecc_errors: int | None = column("n", None)
    pcie_generation: int | None = column("n", 4)
    pcie_width: int | None = column("n", 16)
    pcie_tx: int | None = column("n", 0)
    """KB/s, like ``pcie_rx``."""
    pcie_rx: int | None = column("n", 0)
    nvlinks: int = column("i", 0)
    nvlink_tx: int | None = column("n", 0)
    """KiB/s over all links, like ``nvlink_rx``."""
    nvlink_rx: int | None = column("n", 0)
    brand: int = column("i", 5)
    architecture: int = column("i", 8)
    cc_major: int = column("i", 8)
    cc_minor: int = column("i", 9)
    multiprocessors: int = column("i", 128)
    mig_mode: int | None = column("n", None)
    """None: the card can't be sliced; 1: it is sliced, and only its slices can be used."""
    parent: int | None = column("n", None)
    """Index of the card that this slice is a part of."""
    gpu_instance: int | None = column("n", None)
    compute_instance: int | None = column("n", None)
    wddm: int = column("i", 0)
    """1: Windows' driver model, which gives no process a size."""
    hide_processes: int = column("i", 0)
    """1: the lists are empty, as in a container without the host's pids."""
    no_memory_info: int = column("i", 0)
    """1: memory shared with the system, for which the driver gives no numbers."""


@dataclass(frozen=True)
class Process:
    """What one process holds on one device."""

    pid: int = column("u", 0)
    device: int = column("i", 0)
    started: int = column("q", 0)
    """Clock ticks since boot (/proc/PID/stat, field 22); 0 where the system doesn't say."""
    bytes: int = column("q", 0)
    """Charged now, its context included."""
    peak: int = column("q", 0)
    allocations: int = column("q", 0)
    packed: int = column("q", 0)
    """Bytes of allocations under 1 MiB, which the C driver packs into shared steps of 2 MiB."""
    lists: int = column("u", COMPUTE)
    flags: int = column("u", 0)
    sm: int = column("i", 0)
    """Percent of the multiprocessors, as ``memory_bus`` of the memory bus."""
    memory_bus: int = column("i", 0)
    ended_at: int = column("q", 0)
    """Milliseconds of the monotonic clock; 0: alive, as far as anybody has looked."""
    name: str = column("c64", "")


@dataclass(frozen=True)
class InjectedError:
    """Makes driver calls fail or take long."""

    function: str = column("c64", "")
    """A function's name, or the start of one and ``*``."""
    device: int | None = column("n", None)
    """None: calls for any device, and calls that concern none."""
    code: int = column("i", 0)
    """What the call returns; 0: nothing but the delay."""
    slow_ms: int = column("i", 0)
    count: int | None = column("n", None)
    """How many more calls; None: all."""


@dataclass(frozen=True)
class Calls:
    """How often a driver function was called."""

    function: str = column("c64", "")
    count: int = column("q", 0)


@dataclass(frozen=True)
class Driver:
    """What concerns the whole driver."""

    driver_version: str = column("c32", "580.95.05")
    nvml_version: str = column("c32", "13.580.95.05")
    cuda_version: int = column("i", 13000)
    pid_offset: int = column("i", 0)
    """Added to every pid in the driver's lists, as if they were of another namespace."""
    context_bytes: int = column("q", 300 << 20)
    """What the driver takes for a process's context on a device."""
    keep_dead: int = column("i", 0)
    """1: the memory of dead processes stays."""
    release_ms: int = column("i", 0)
    """How long a dead process's memory stays after its death was seen."""


_SCALARS: dict[str, Any] = {
    "i": ctypes.c_int32,
    "n": ctypes.c_int32,
    "u": ctypes.c_uint32,
    "q": ctypes.c_uint64,
}
_C_TYPES = {"i": "int32_t", "n": "int32_t", "u": "uint32_t", "q": "uint64_t"}


def _columns(row: type[Any]) -> list[tuple[str, str]]:
    return [(item.name, item.metadata["kind"]) for item in fields(row)]


def _structure(row: type[Any]) -> type[ctypes.Structure]:
    return type(
        row.__name__ + "Row",
        (ctypes.Structure,),
        {
            "_fields_": [
                (name, _SCALARS.get(kind) or ctypes.c_char * int(kind[1:]))
                for name, kind in _columns(row)
            ]
        },
    )


DeviceRow = _structure(Device)
ProcessRow = _structure(Process)
ErrorRow = _structure(InjectedError)
CallsRow = _structure(Calls)
DriverRow = _structure(Driver)

_HEAD_COLUMNS = ("magic", "version", "size", "device_count", "process_rows")
_TABLES = (
    ("devices", DeviceRow, DEVICES),
    ("errors", ErrorRow, ERRORS),
    ("calls", CallsRow, CALLS),
    ("processes", ProcessRow, PROCESSES),
)


class File(ctypes.Structure):
    """The whole file. ``process_rows`` is how many rows were ever used: readers stop there."""

    _fields_ = [
        *[(name, ctypes.c_uint32) for name in _HEAD_COLUMNS],
        ("driver", DriverRow),
        *[(name, row * length) for name, row, length in _TABLES],
    ]


SIZE = ctypes.sizeof(File)
HEAD = (MAGIC, VERSION, SIZE)
"""The file begins with these as uint32, so that anything else is refused."""

_Row = TypeVar("_Row")


def load(kind: type[_Row], row: ctypes.Structure) -> _Row:
    """A row of the file as its dataclass."""
    values: dict[str, Any] = {}
    for name, column_kind in _columns(kind):
        value = getattr(row, name)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        values[name] = None if column_kind == "n" and value == -1 else value
    return kind(**values)


def store(kind: type[Any], row: ctypes.Structure, values: dict[str, Any]) -> None:
    """Write columns of a row.

    Raises KeyError for a column that doesn't exist. Text that is too long is cut. Bytes are
    stored as they are: a driver may well give a name that is no UTF-8.
    """
    kinds = dict(_columns(kind))
    for name, value in values.items():
        column_kind = kinds[name]
        if column_kind.startswith("c"):
            room = int(column_kind[1:]) - 1
            if not isinstance(value, bytes):
                value = str(value).encode()[:room].decode("utf-8", "ignore").encode()
            value = value[:room]
        elif value is None and column_kind == "n":
            value = -1
        setattr(row, name, value)


def header() -> str:
    """The same layout in C."""

    def member(name: str, kind: str) -> str:
        return f"{_C_TYPES[kind]} {name};" if kind in _C_TYPES else f"char {name}[{kind[1:]}];"

    lines = ["/* Generated by layout.py; do not edit. */", "#pragma once", "#include <stdint.h>"]
    constants = {
        "MAGIC": MAGIC,
        "VERSION": VERSION,
        "DEVICES": DEVICES,
        "PROCESSES": PROCESSES,
        "ERRORS": ERRORS,
        "CALLS": CALLS,
        "GRANULARITY": GRANULARITY,
        "COMPUTE": COMPUTE,
        "GRAPHICS": GRAPHICS,
        "MPS": MPS,
        "USED": USED,
        "STATIC": STATIC,
        "ZOMBIE": ZOMBIE,
        "NO_SIZE": NO_SIZE,
        "HIDDEN": HIDDEN,
        "CONTEXT": CONTEXT,
    }
    lines += [f"#define LEDGER_{name} {value}u" for name, value in constants.items()]
    for kind in (Device, Process, InjectedError, Calls, Driver):
        members = " ".join(member(name, c) for name, c in _columns(kind))
        lines.append(f"typedef struct {{ {members} }} {kind.__name__}Row;")
    head = " ".join(f"uint32_t {name};" for name in _HEAD_COLUMNS)
    names = {
        DeviceRow: "DeviceRow",
        ErrorRow: "InjectedErrorRow",
        CallsRow: "CallsRow",
        ProcessRow: "ProcessRow",
    }
    tables = " ".join(f"{names[row]} {name}[{length}];" for name, row, length in _TABLES)
    lines.append(f"typedef struct {{ {head} DriverRow driver; {tables} }} Ledger;")
    lines.append(f'_Static_assert(sizeof(Ledger) == {SIZE}, "the layout differs from layout.py");')
    return "\n".join(lines) + "\n"
