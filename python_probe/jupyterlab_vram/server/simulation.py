"""The simulated GPU, for the whole server: its ledger, and telling kernels where it is."""

from __future__ import annotations

import os

from ..simulated.files import ENVIRONMENT
from ..simulated.ledger import Ledger


class Simulation:
    """Kernels that start between ``enter`` and ``leave`` find the ledger in their environment."""

    def __init__(self) -> None:
        self._before: str | None = None
        self._active = False

    def enter(self) -> None:
        """Create the ledger if need be.

        Raises
        ------
        LedgerError, OSError
            The file can't be used; the text says why.
        """
        if self._active:
            return
        with Ledger.open() as ledger:
            path = str(ledger.path)
        self._before = os.environ.get(ENVIRONMENT)
        os.environ[ENVIRONMENT] = path
        self._active = True

    def leave(self) -> None:
        if not self._active:
            return
        if self._before is None:
            os.environ.pop(ENVIRONMENT, None)
        else:
            os.environ[ENVIRONMENT] = self._before
        self._active = False
