"""Who runs the notebooks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from notebook_user import SIMULATED, Child


def pythons() -> list[Any]:
    """Today's Python, and the oldest that kernels may have."""
    old = os.environ.get("VRAM_TEST_PYTHON38")
    skip = pytest.mark.skipif(old is None, reason="VRAM_TEST_PYTHON38 names no Python 3.8")
    return [
        pytest.param(sys.executable, id="now"),
        pytest.param(old, id="python38", marks=[pytest.mark.frameworks, skip]),
    ]


@pytest.fixture(scope="module", params=pythons())
def child(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Child]:
    """With the simulated GPU's arrays."""
    ledger = tmp_path_factory.mktemp("gpu") / "ledger"
    child = Child(request.param, SIMULATED, VRAM_SIMULATED_LEDGER=str(ledger))
    yield child
    child.close()
