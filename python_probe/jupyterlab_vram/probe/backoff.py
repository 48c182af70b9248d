"""When to try again."""

from __future__ import annotations

import time


class Backoff:
    """Waits ``first`` seconds after a failure, then twice as long each time, ``most`` at most."""

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self._delay = first
        self._due_at = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._due_at

    def failed(self) -> None:
        self._due_at = time.monotonic() + self._delay
        self._delay = min(2 * self._delay, self._most)

    def worked(self) -> None:
        self._delay = self._first
        self._due_at = 0.0
