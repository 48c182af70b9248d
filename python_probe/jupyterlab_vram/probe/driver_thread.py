"""The one thread that calls the driver."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from .. import wire
from . import problems
from .reading import Probe, Reading

log = logging.getLogger(__name__)


class DriverThreadClosed(Exception):
    """The reading will not come, because the thread was closed."""


class DriverThread:
    """Makes all driver calls, one at a time, so that one that hangs holds up nothing else.

    The thread starts with the first request. It is a daemon: neither `close` nor the interpreter's
    end waits for a call that hangs. How long to wait for a reading is the caller's decision.
    """

    def __init__(self, make_probe: Callable[[], Probe], release_after: float = 30.0) -> None:
        """``make_probe`` is called in the thread. After ``release_after`` seconds without a request
        the driver is let go of, so that an unused GPU can sleep; the next request opens it again.
        """
        self._make_probe = make_probe
        self._release_after = release_after
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._future: Future[Reading] | None = None
        self._closed = False
        self._logged: str | None = None
        self._fault: str | None = None

        self.calls = 0
        """Readings begun."""
        self.seconds = 0.0
        """Time that all finished readings took together."""
        self.since: float | None = None
        """``time.monotonic()`` when the reading in flight began; None between readings."""
        self.source: wire.Source | None = None
        """Of the last reading; None before the first."""

    def request(self) -> Future[Reading]:
        """The next reading; while one is in flight, that one, shared by all who ask.

        Cancelling the future has no effect. It fails with DriverThreadClosed once closed, and with
        nothing else: what a probe raises becomes a reading that says so.
        """
        with self._wake:
            if self._future is not None:
                return self._future
            future: Future[Reading] = Future()
            # A running future can't be cancelled: one caller's time limit must not end the others'.
            future.set_running_or_notify_cancel()
            if self._closed:
                future.set_exception(DriverThreadClosed())
                return future
            self._future = future
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vram-driver", daemon=True)
                self._thread.start()
            self._wake.notify()
            return future

    def close(self) -> None:
        """Return at once. A reading in flight fails for those who wait; its call may still hang."""
        with self._wake:
            self._closed = True
            future, self._future = self._future, None
            self._wake.notify()
        if future is not None:
            future.set_exception(DriverThreadClosed())

    def _run(self) -> None:
        probe: Probe | None = None
        while True:
            with self._wake:
                while self._future is None and not self._closed:
                    if not self._wake.wait(self._release_after):
                        break
                future, closed = self._future, self._closed
            if closed or future is None:
                if probe is not None:
                    probe.close()
                if closed:
                    return
                with self._wake:
                    while self._future is None and not self._closed:
                        self._wake.wait()
                continue
            self.calls += 1
            self.since = time.monotonic()
            try:
                probe = probe or self._make_probe()
                reading = probe.read()
            except Exception as error:
                if repr(error) != self._fault:
                    log.exception("Reading the GPU failed; it is tried again.")
                self._fault = repr(error)
                reading = Reading.without(self.source or "nvml", problems.failed(self._fault))
            self.seconds += time.monotonic() - self.since
            self.since = None
            self._answer(future, reading)

    def _answer(self, future: Future[Reading], reading: Reading) -> None:
        with self._wake:
            if self._future is not future:
                return  # Closed while the call was in flight.
            self._future = None
        self._log(reading)
        self.source = reading.source
        future.set_result(reading)

    def _log(self, reading: Reading) -> None:
        """One line for each change, not for each reading."""
        problem, doubt = reading.problem, reading.doubt
        trouble = problem.code if problem else "doubt" if doubt else None
        if trouble != self._logged:
            if trouble:
                log.warning("%s", problem.text if problem else doubt)
            else:
                log.info("The GPU driver answers as it should again.")
        self._logged = trouble
