"""Parks the simulated GPU's arrays, see ``park.py``. They hold no values, so none are copied."""

from __future__ import annotations

from typing import Any


class Part:
    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.nbytes: int = storage.nbytes
        self.allocated: int = storage.allocated


def refusals(agent: Any, simulated: Any) -> list[str]:
    return []


def survey(agent: Any, simulated: Any, objects: list[Any]) -> dict[str, Any]:
    adapter = agent.module("simulated_gpu")
    parts: dict[int, Part] = {}
    for thing in objects:
        storage = adapter.storage_of(simulated, thing)
        if storage is not None:
            parts[id(storage)] = Part(storage)
    allocated = sum(map(simulated.memory_allocated, range(simulated.device_count())))
    found = sum(part.allocated for part in parts.values())
    return {
        "parts": list(parts.values()),
        "refused": [],
        "stays": [],
        "found": found,
        "allocated": allocated,
    }


def save(agent: Any, simulated: Any, parts: list[Part], check: Any) -> None:
    check()


def empty(agent: Any, simulated: Any, parts: list[Part]) -> None:
    for part in parts:
        part.storage.resize_(0)


def lacks(agent: Any, simulated: Any, parts: list[Part]) -> list[tuple[int, int]]:
    needed: dict[int, int] = {}
    for part in parts:
        needed[part.storage.device] = needed.get(part.storage.device, 0) + part.nbytes
    found = []
    for device, size in needed.items():
        free = simulated.mem_get_info(device)[0]
        if free < size:
            found.append((size, free))
    return found


def fill(agent: Any, simulated: Any, parts: list[Part]) -> None:
    for part in parts:
        if not part.storage.nbytes:
            part.storage.resize_(part.nbytes)


def load(agent: Any, simulated: Any, parts: list[Part], check: Any) -> None:
    check()
