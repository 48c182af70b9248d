"""Driver calls and CPU of a watched server: with 1 and 30 kernels, with 1 and 30 browsers."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from jupyterlab_vram.simulated.ledger import Ledger

from .clients import browsers
from .machine import GPUS, eight_gpus
from .row import Row, milliseconds
from .server import JupyterServer, jupyter_server

MANY = 30
ROUNDS = 3
READINGS = 16
"""A round."""
INTERVAL = 0.25
"""Seconds between two readings, the shortest that there is."""
BOUND = 1.2


@dataclass(frozen=True)
class Place:
    """A server, on a machine of its own."""

    server: JupyterServer
    ledger: Ledger
    kernels: list[str]


@dataclass(frozen=True)
class Cost:
    """Of a watched second."""

    calls: float
    cpu: float
    """Seconds, without what the same server uses while nobody looks."""


def measure() -> list[Row]:
    with ExitStack() as stack:
        one, many = (opened(stack, count) for count in (1, MANY))
        few = costs([(one, 1), (many, 1)])
        for number, kernel in enumerate(many.kernels[1:], start=1):
            many.server.take_memory(kernel, number % GPUS)
        every = costs([(one, 1), (many, 1)])
        watched = costs([(one, 1), (one, MANY)])
    send = (watched[1].cpu - watched[0].cpu) / (MANY - 1) * INTERVAL
    return [
        calls_row(f"1 to {MANY} kernels, one of them on the GPU", *few),
        cpu_row(f"1 to {MANY} kernels, one of them on the GPU", *few, bound=BOUND),
        calls_row(f"1 to {MANY} kernels, all on the GPUs", *every),
        cpu_row(f"1 to {MANY} kernels, all on the GPUs", *every, bound=None),
        calls_row(f"1 to {MANY} browsers", *watched),
        Row(
            measure="Server CPU for each further browser, a reading",
            ours=milliseconds(send),
            against="its own send",
        ),
    ]


def opened(stack: ExitStack, kernels: int) -> Place:
    """A server with so many kernels, the first of which holds memory."""
    ledger, environment = stack.enter_context(eight_gpus())
    server = stack.enter_context(jupyter_server(environment))
    server.configure(interval=INTERVAL)
    place = Place(server, ledger, server.start_kernels(kernels))
    server.take_memory(place.kernels[0], 0)
    return place


def costs(contenders: list[tuple[Place, int]]) -> list[Cost]:
    """What each place costs while so many browsers look, measured in turns."""
    rounds = [[cost(*contender) for contender in contenders] for _ in range(ROUNDS)]
    return [
        Cost(median(each.calls for each in taken), median(each.cpu for each in taken))
        for taken in zip(*rounds, strict=True)
    ]


def cost(place: Place, count: int) -> Cost:
    server = place.server
    used, began = server.cpu(), time.monotonic()
    time.sleep(READINGS * INTERVAL)
    alone = (server.cpu() - used) / (time.monotonic() - began)
    with browsers(server, count) as received:
        received.wait(2)
        place.ledger.reset_calls()
        used, began = server.cpu(), time.monotonic()
        received.wait(READINGS)
        seconds = time.monotonic() - began
        calls, cpu = sum(place.ledger.calls().values()), server.cpu() - used
    return Cost(calls / seconds, cpu / seconds - alone)


def calls_row(what: str, before: Cost, after: Cost) -> Row:
    ratio = after.calls / before.calls
    return Row(
        measure=f"Driver calls a second, {what}",
        ours=f"{after.calls:.0f}",
        against=f"{before.calls:.0f}, at most {BOUND:g}\N{MULTIPLICATION SIGN}",
        ratio=ratio,
        holds=ratio <= BOUND,
    )


def cpu_row(what: str, before: Cost, after: Cost, *, bound: float | None) -> Row:
    ratio = after.cpu / before.cpu
    limit = f", at most {bound:g}\N{MULTIPLICATION SIGN}" if bound else ""
    return Row(
        measure=f"Server CPU a second, {what}",
        ours=milliseconds(after.cpu),
        against=milliseconds(before.cpu) + limit,
        ratio=ratio,
        holds=ratio <= bound if bound else None,
    )
