"""Fixtures for tests that read the simulated driver in C."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_driver import boards
from fake_driver.build import Driver, NoCompiler, build
from jupyterlab_vram.simulated.files import ENVIRONMENT
from jupyterlab_vram.simulated.ledger import Ledger


@dataclass(frozen=True)
class FakeDriver:
    """The built driver and the ledger it reads, one RTX 4090 to begin with."""

    driver: Driver
    ledger: Ledger
    """The handle on everything: values, processes, injected errors, counted calls."""

    def environment(self, *, preload: bool = False) -> dict[str, str]:
        """This process's variables with those that make a child see the driver; ``preload`` for
        children that use PyTorch."""
        return {**os.environ, **self.driver.environment(self.ledger.path, preload=preload)}

    def load(self, scenario: str | dict[str, Any]) -> None:
        """Put another machine under those that read the driver."""
        Ledger.create(self.ledger.path, scenario).close()


@pytest.fixture(scope="session")
def built_driver() -> Driver:
    """The libraries, built once; skips where gcc is missing."""
    try:
        return build()
    except NoCompiler as error:
        pytest.skip(str(error))


@pytest.fixture
def fake_driver(built_driver: Driver, tmp_path: Path) -> Iterator[FakeDriver]:
    """A simulated driver for child processes; each test has a ledger of its own."""
    with Ledger.create(tmp_path / "driver.ledger", boards.ONE) as ledger:
        yield FakeDriver(built_driver, ledger)


@pytest.fixture(scope="session")
def _loaded_driver(
    built_driver: Driver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FakeDriver]:
    path = tmp_path_factory.mktemp("driver") / "driver.ledger"
    with Ledger.create(path, boards.ONE) as ledger, pytest.MonkeyPatch.context() as patch:
        # A library that is loaded by its path is found by its name from then on, and it takes the
        # ledger that the variable names at its first call.
        patch.setenv(ENVIRONMENT, str(path))
        library = ctypes.CDLL(str(built_driver.nvml))
        assert library.nvmlInit_v2() == 0
        assert library.nvmlShutdown() == 0
        patch.undo()
        yield FakeDriver(built_driver, ledger)


@pytest.fixture
def own_driver(_loaded_driver: FakeDriver) -> Iterator[FakeDriver]:
    """A simulated NVML in this very process, for nvidia-ml-py as it is.

    A library can't be unloaded; after the test its initialisation says "library not found", so
    that tests of a machine without a driver don't depend on the order.
    """
    _loaded_driver.load(boards.ONE)
    yield _loaded_driver
    _loaded_driver.load(
        {"devices": [], "errors": [{"function": "nvmlInit*", "code": "LIBRARY_NOT_FOUND"}]}
    )
