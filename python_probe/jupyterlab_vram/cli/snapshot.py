"""``jupyter vram snapshot``."""

from __future__ import annotations

import argparse
import concurrent.futures
import sys
import time
from collections.abc import Iterator
from typing import Any

from .. import wire
from ..kernels.attribution import Attributor
from ..kernels.snapshot import build_snapshot
from ..probe import DriverThread, Reading, make_probe, timeout_reading
from ..probe.open_devices import opens_gpu
from .servers import Servers

READ_LIMIT = 10.0
"""Seconds that the driver gets to answer."""

_SOURCES = ("auto", "nvml", "nvidia-smi", "simulated")


def add_to(commands: Any) -> None:
    """Add this command to argparse's subparsers."""
    parser = commands.add_parser(
        "snapshot",
        help="show each GPU and what holds its memory",
        description="Show each GPU and what holds its memory, by notebook. Asks the driver and "
        "this user's running Jupyter servers; changes nothing.",
    )
    parser.add_argument("--json", action="store_true", help="print the wire's JSON, one line each")
    parser.add_argument(
        "--watch",
        nargs="?",
        type=_interval,
        const=1.0,
        metavar="SECONDS",
        help="go on, every second or every SECONDS, until Ctrl-C",
    )
    parser.add_argument(
        "--source",
        choices=_SOURCES,
        default="auto",
        help="where readings come from (default: auto, which never means simulated)",
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print one snapshot, or one after the other."""
    snapshots = _snapshots(chosen.source, chosen.watch)
    state: wire.State = "ok"
    if chosen.json:
        for snapshot, notes in snapshots:
            _print_json(snapshot, notes)
            state = snapshot.state
    else:
        from .table import Screen  # rich takes a while to load, and --json doesn't need it

        with Screen(live=chosen.watch is not None) as screen:
            for snapshot, notes in snapshots:
                screen.show(snapshot, notes)
                state = snapshot.state
    return 0 if state == "ok" else 1


def _snapshots(source: Any, interval: float | None) -> Iterator[tuple[wire.Snapshot, list[str]]]:
    """Snapshots with notes on what could not be asked; one, or without end."""
    driver = DriverThread(lambda: make_probe(source))
    servers = Servers()
    files: wire.Source = "simulated" if source == "simulated" else "nvml"
    try:
        while True:
            began = time.monotonic()
            asked: wire.Source = "nvml" if source == "auto" else source
            reading = _read(driver, asked)
            found = servers.ask()
            attributor = Attributor(lambda pid: opens_gpu(pid, files), servers=found.answered)
            holders = attributor.holders(reading.processes, found.kernels)
            yield build_snapshot(reading, found.kernels, holders), found.notes
            if interval is None:
                return
            time.sleep(max(0.0, began + interval - time.monotonic()))
    finally:
        driver.close()


def _read(driver: DriverThread, source: wire.Source) -> Reading:
    try:
        return driver.request().result(READ_LIMIT)
    except concurrent.futures.TimeoutError:
        return timeout_reading(driver.source or source, READ_LIMIT)


def _print_json(snapshot: wire.Snapshot, notes: list[str]) -> None:
    sys.stdout.buffer.write(wire.encode(snapshot) + b"\n")
    sys.stdout.buffer.flush()
    problem = snapshot.problem
    said = [f"{problem.text} {problem.hint}"] if problem is not None else []
    sys.stderr.writelines(f"{line}\n" for line in [*said, *notes])


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0.1 to 86400")
    return seconds
