"""The latest reports, for clients that come after them."""

from __future__ import annotations

from collections.abc import Iterator

from .. import wire

MOST = 200
"""Kernels whose last finished report is kept."""


class Reports:
    """Of each kernel the last finished report, and those of runs that wait or go on."""

    def __init__(self) -> None:
        self._under_way: dict[str, bytes] = {}
        self._finished: dict[str, tuple[str, bytes]] = {}
        """Kernel id to the run's id and its report, the latest last."""

    def put(self, report: wire.Report, body: bytes) -> None:
        """
        Args:
            body: ``report`` as it is sent.
        """
        if not report.finished:
            self._under_way[report.run_id] = body
            return
        self._under_way.pop(report.run_id, None)
        self._finished.pop(report.kernel_id, None)
        self._finished[report.kernel_id] = report.run_id, body
        while len(self._finished) > MOST:
            del self._finished[next(iter(self._finished))]

    def latest(self) -> Iterator[tuple[str, bytes]]:
        """Run id and report, the finished ones first."""
        yield from self._finished.values()
        yield from self._under_way.items()
