"""Notebooks on the simulated driver, which the server reads by nvidia-ml-py as it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from case_user import TORCH, Ask, User
from frameworks import kernelspec


@pytest.fixture
def ledger(own_driver: Any) -> Any:
    """The server's driver, and its kernels': they share the books."""
    return own_driver.ledger


@pytest.fixture
def traits() -> dict[str, Any]:
    return {"source": "nvml"}


@pytest.fixture
def open_notebook(
    own_driver: Any, ask: Ask, jp_serverapp: Any, jp_data_dir: Path
) -> Iterator[Callable[..., Awaitable[User]]]:
    """Opens a notebook: ``torch`` and ``numba`` with the real CUDA builds, ``plain`` with what this
    project's environment and the stand-ins have."""
    users: list[User] = []

    async def open_notebook(kind: str = "torch", path: str = "train.ipynb") -> User:
        python = sys.executable
        if kind != "plain":
            python = os.environ.get("FRAMEWORKS_PYTHON") or pytest.skip(
                "The CUDA builds are not set up: npm run test:frameworks does it (5.5 GB)."
            )
        name = kernelspec.write(
            jp_data_dir,
            Path(python),
            own_driver.driver,
            own_driver.ledger.path,
            name=f"case-{kind}",
            preload=kind == "torch",
        )
        session = await jp_serverapp.session_manager.create_session(
            path=path, name=path, type="notebook", kernel_name=name
        )
        user = User(ask, jp_serverapp.kernel_manager, own_driver.ledger, session)
        users.append(user)
        await user.ready()
        if kind == "torch":
            await user.cell(TORCH)
        return user

    yield open_notebook
    for user in users:
        user.close()
