"""Driver calls and CPU of a watched server: with 1 and 30 kernels, with 1 and 30 browsers."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from jupyterlab_vram.simulated.ledger import Ledger

from .clients import browsers
from .machine import eight_gpus
from .row import Row, milliseconds
from .server import JupyterServer, jupyter_server

MANY = 30
SECONDS = 5
"""For which driver calls are counted, at the interval that users have."""
ROUNDS = 6
READINGS = 30
"""A round, for CPU."""
PAUSE = 0.02
"""Seconds between them: caches get cold, and Jupyter's own work, which differs from second to
second by more than a reading costs, stays a small part."""
SETTLE = 5.0
"""Seconds after which kernels that have just started are calm."""
BOUND = 1.2


@dataclass(frozen=True)
class Place:
    """A server, on a machine of its own."""

    server: JupyterServer
    ledger: Ledger
    kernels: list[str]


def measure() -> list[Row]:
    with ExitStack() as stack:
        one, many = (opened(stack, count) for count in (1, MANY))
        few_calls, thirty_calls, crowd_calls = (
            calls(place, count) for place, count in ((one, 1), (many, 1), (one, MANY))
        )
        few, thirty, crowd = cpu((one, 1), (many, 1), (one, MANY))
        many.server.hold(many.ledger, many.kernels[1:], first_gpu=1)
        full_calls = calls(many, 1)
        again, full = cpu((one, 1), (many, 1))
    kernels = f"1 to {MANY} kernels"
    return [
        calls_row(f"{kernels}, one of them on the GPU", few_calls, thirty_calls),
        calls_row(f"{kernels}, all on the GPUs", few_calls, full_calls),
        calls_row(f"1 to {MANY} browsers", few_calls, crowd_calls),
        cpu_row(f"{kernels}, one of them on the GPU", few, thirty, bound=BOUND),
        cpu_row(f"{kernels}, all on the GPUs", again, full, bound=None),
        Row(
            measure="Server CPU of a reading for each further browser",
            ours=milliseconds((crowd - few) / (MANY - 1)),
            against="its own send",
        ),
    ]


def opened(stack: ExitStack, kernels: int) -> Place:
    """A server with so many kernels, the first of which holds memory."""
    ledger, environment = stack.enter_context(eight_gpus())
    server = stack.enter_context(jupyter_server(environment))
    place = Place(server, ledger, server.start_kernels(kernels))
    server.hold(ledger, place.kernels[:1])
    return place


def calls(place: Place, count: int) -> float:
    """Driver calls a second while so many browsers look."""
    with browsers(place.server, count) as received:
        received.wait(2)
        place.ledger.reset_calls()
        began = time.monotonic()
        received.wait(SECONDS)
        return sum(place.ledger.calls().values()) / (time.monotonic() - began)


def cpu(*contenders: tuple[Place, int]) -> list[float]:
    """Seconds of CPU, of all threads, that a reading costs each place while so many browsers look.

    Taken in turns. What the same server uses meanwhile for its kernels, though nobody looks, is
    taken off; it differs from second to second, hence medians before the difference.
    """
    time.sleep(SETTLE)
    rounds = [[window(*contender) for contender in contenders] for _ in range(ROUNDS)]
    found = []
    for windows in zip(*rounds, strict=True):
        own, total = (median(seconds) for seconds in zip(*windows, strict=True))
        found.append(total - own)
    return found


def window(place: Place, count: int) -> tuple[float, float]:
    """CPU during the time of one reading: without any, and with it."""
    server = place.server
    # Before, not after: with the last browser gone, the server soon looks which kernels use a GPU.
    used, began = server.cpu(), time.monotonic()
    time.sleep(2 * READINGS * PAUSE)
    alone = (server.cpu() - used) / (time.monotonic() - began)
    with browsers(server, count):
        used, began = server.cpu(), time.monotonic()
        server.ask(f"bench/samples?count={READINGS}&pause={PAUSE}")
        total, seconds = server.cpu() - used, time.monotonic() - began
    return alone * seconds / READINGS, total / READINGS


def calls_row(what: str, before: float, after: float) -> Row:
    ratio = after / before
    return Row(
        measure=f"Driver calls a second, {what}",
        ours=f"{after:.0f}",
        against=f"{before:.0f}, at most {BOUND:g}\N{MULTIPLICATION SIGN}",
        ratio=ratio,
        holds=ratio <= BOUND,
    )


def cpu_row(what: str, before: float, after: float, *, bound: float | None) -> Row:
    ratio = after / before
    limit = f", at most {bound:g}\N{MULTIPLICATION SIGN}" if bound else ""
    return Row(
        measure=f"Server CPU of a reading, {what}",
        ours=milliseconds(after),
        against=milliseconds(before) + limit,
        ratio=ratio,
        holds=ratio <= bound if bound else None,
    )
