"""Boards by their real names, for tests of what reads a driver. Their figures are from memory."""

from __future__ import annotations

from typing import Any

from jupyterlab_vram.simulated.scenarios import CARDS

RTX4090: dict[str, Any] = {
    **CARDS["24-gib"],
    "name": "NVIDIA GeForce RTX 4090",
    "total": "24564 MiB",
    "reserved": "348 MiB",
    "temperature": 38,
    "power": 22_000,
    "power_limit": 450_000,
    "max_clock_graphics": 3105,
    "max_clock_sm": 3105,
    "fan": 0,
}
H100: dict[str, Any] = {
    **CARDS["80-gib"],
    "name": "NVIDIA H100 80GB HBM3",
    "total": "81559 MiB",
    "reserved": "551 MiB",
}
T4: dict[str, Any] = {
    **CARDS["24-gib"],
    "name": "Tesla T4",
    "total": "15360 MiB",
    "reserved": "448 MiB",
    "temperature": 45,
    "slowdown_at": 93,
    "shutdown_at": 96,
    "power": 14_000,
    "power_limit": 70_000,
    "clock_graphics": 300,
    "clock_sm": 300,
    "max_clock_sm": 1590,
    "fan": None,
    "fans": 0,
    "ecc_errors": 0,
    "brand": 14,
    "architecture": 6,
    "cc_major": 7,
    "cc_minor": 5,
    "multiprocessors": 40,
}

ONE: dict[str, Any] = {"devices": [RTX4090]}

LAB: dict[str, Any] = {
    "devices": [
        {**RTX4090, "gpu_use": 97, "temperature": 79, "throttling": 4, "other_used": "212 MiB"},
        H100,
        {**T4, "wddm": 1},
    ],
    "processes": [
        {"pid": 1, "device": 0, "bytes": "3 GiB", "name": "trainer"},
        {"pid": 1, "device": 0, "bytes": "120 MiB", "lists": 2, "name": "Xorg"},
        {"pid": 999_999, "device": 1, "bytes": "5 GiB", "name": "ghost"},
        {"pid": 1, "device": 2, "bytes": 0, "lists": 3},
    ],
}

SLICED: dict[str, Any] = {
    "devices": [
        {**H100, "mig_mode": 1},
        {
            **H100,
            "name": f"{H100['name']} MIG 3g.40gb",
            "total": "40448 MiB",
            "reserved": 0,
            "mig_mode": None,
            "parent": 0,
            "gpu_instance": 1,
            "compute_instance": 0,
        },
        {
            **H100,
            "name": f"{H100['name']} MIG 1g.10gb",
            "total": "9856 MiB",
            "reserved": 0,
            "mig_mode": None,
            "parent": 0,
            "gpu_instance": 9,
            "compute_instance": 0,
        },
    ],
    "processes": [{"pid": 1, "device": 1, "bytes": "6 GiB"}],
}
