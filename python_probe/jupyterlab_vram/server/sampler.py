"""One reading of the driver for everybody: taken off the event loop, and only when needed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .. import wire
from ..probe import DriverThread, DriverThreadClosed, Reading

BACKGROUND = 15.0
"""Seconds between two looks while nobody watches; the driver is called only if a kernel uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A snapshot, encoded once for all who want it."""

    snapshot: wire.Snapshot
    body: bytes
    began: float
    """When its driver call began, by the event loop's clock."""
    every: float
    """Seconds after which the next one is due."""


class Sampler:
    """Reads at the interval while anybody watches, rarely while a kernel uses a GPU, else never.

    Parameters
    ----------
    driver
        Makes the driver calls; ``use`` replaces it.
    describe
        Turns a driver reading into a snapshot with kernels, without blocking the event loop.
    timed_out
        The reading that says that the driver did not answer within so many seconds.
    in_use
        Whether a kernel has a GPU open, found without calling the driver.
    interval
        Seconds between two readings; asked before each.
    read_limit
        Seconds that a driver call is awaited. A call that takes longer goes on in its thread.
    watched
        Whether anybody waits for samples.
    publish
        Gets every sample.
    """

    def __init__(
        self,
        driver: DriverThread,
        *,
        describe: Callable[[Reading], Awaitable[wire.Snapshot]],
        timed_out: Callable[[float], Reading],
        in_use: Callable[[], Awaitable[bool]],
        interval: Callable[[], float],
        read_limit: float,
        watched: Callable[[], bool],
        publish: Callable[[Sample], None],
        log: logging.Logger,
    ) -> None:
        self.driver = driver
        self._describe = describe
        self._timed_out = timed_out
        self._in_use = in_use
        self._interval = interval
        self._read_limit = read_limit
        self._watched = watched
        self._publish = publish
        self.log = log
        self._latest: Sample | None = None
        self._flight: asyncio.Task[Sample] | None = None
        self._call: tuple[asyncio.Future[Reading], float] | None = None
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._fault: str | None = None

    def start(self) -> None:
        """Begin to look after watchers; needs a running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """End at once, also while a driver call hangs; that call's answer is dropped."""
        self.driver.close()
        if self._call is not None:
            self._call[0].cancel()
        tasks = [task for task in (self._task, self._flight) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def use(self, driver: DriverThread) -> None:
        """Read from another source from now on."""
        self.driver.close()
        self.driver, self._call, self._latest = driver, None, None
        self._awake.set()

    def hurry(self) -> None:
        """Look now instead of when it is due: somebody came, or the interval has changed."""
        self._awake.set()

    async def read(self, max_age: float = 0.0) -> Sample:
        """A sample whose driver call began at most ``max_age`` seconds before this call.

        Callers share one reading. Answers within the read limit, by a snapshot with the state
        ``timeout`` where the driver has not answered.
        """
        oldest = asyncio.get_running_loop().time() - max_age
        while self._latest is None or self._latest.began < oldest:
            if self._flight is None or self._flight.done():
                self._flight = asyncio.get_running_loop().create_task(self._read())
            await asyncio.shield(self._flight)
        return self._latest

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._awake.clear()
            due = loop.time() + self._period()
            try:
                if self._watched() or await self._in_use():
                    await self.read()
                self._fault = None
            except Exception as error:
                # A fault of ours must not end the readings of everybody, nor fill the log.
                if repr(error) != self._fault:
                    self.log.exception("A reading of the GPU failed; it is tried again.")
                self._fault = repr(error)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._awake.wait(), max(due - loop.time(), 0.0))

    def _period(self) -> float:
        return self._interval() if self._watched() else BACKGROUND

    async def _read(self) -> Sample:
        while True:
            driver = self.driver
            try:
                reading, began = await self._ask(driver)
            except DriverThreadClosed:
                if driver is self.driver:
                    raise
                continue
            snapshot = await self._describe(reading)
            if driver is self.driver:
                break
        sample = Sample(
            snapshot=snapshot, body=wire.encode(snapshot), began=began, every=self._period()
        )
        self._latest = sample
        self._publish(sample)
        return sample

    async def _ask(self, driver: DriverThread) -> tuple[Reading, float]:
        now = asyncio.get_running_loop().time()
        if self._call is None or self._call[0].done():
            call = asyncio.wrap_future(driver.request())
            # An answer after the limit is nobody's; asyncio would complain of its exception.
            call.add_done_callback(lambda late: late.cancelled() or late.exception())
            self._call = call, now
        call, began = self._call
        # asyncio.wait, unlike wait_for, leaves a call that is late alone: others share it.
        done, _ = await asyncio.wait({call}, timeout=max(began + self._read_limit - now, 0.0))
        if not done:
            return self._timed_out(self._read_limit), now
        return call.result(), began
