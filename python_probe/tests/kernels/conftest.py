"""Real processes and kernels that hold memory on the simulated GPU."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from families import Family
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.activity import leave_no_trace
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.kernels.describe import Describer
from jupyterlab_vram.kernels.known import KnownKernel
from jupyterlab_vram.kernels.offers import Rules
from jupyterlab_vram.kernels.registry import KernelRegistry
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.probe.open_devices import opens_gpu
from jupyterlab_vram.probe.simulated import SimulatedProbe
from jupyterlab_vram.simulated.ledger import Ledger
from users import Person


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    path = tmp_path / "ledger"
    monkeypatch.setenv("VRAM_SIMULATED_LEDGER", str(path))
    with Ledger.create(path) as ledger:
        yield ledger


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path)
    yield family
    family.end()


@pytest.fixture
def known() -> Callable[..., KnownKernel]:
    """What the registry would say of a kernel with this process."""

    def known(process: psutil.Process, notebook: str = "train.ipynb") -> KnownKernel:
        session = wire.KernelSession(id="s", path=notebook, name=notebook, type="notebook")
        return KnownKernel(
            id=f"id-of-{process.pid}",
            name="python3",
            process=process,
            started_at=process.create_time(),
            state="idle",
            sessions=(session,),
        )

    return known


@pytest.fixture
def registry(jp_serverapp: Any) -> KernelRegistry:
    return KernelRegistry(jp_serverapp.kernel_manager, jp_serverapp.session_manager)


@pytest.fixture
def describer(registry: KernelRegistry, ledger: Ledger) -> Describer:
    return Describer(registry, lambda pid: opens_gpu(pid, "simulated"))


@pytest.fixture
def read(describer: Describer) -> Callable[[], Awaitable[wire.Snapshot]]:
    async def read() -> wire.Snapshot:
        return await describer.snapshot(await asyncio.to_thread(SimulatedProbe().read))

    return read


@pytest.fixture
def remedies(
    jp_serverapp: Any,
    registry: KernelRegistry,
    describer: Describer,
    read: Callable[[], Awaitable[wire.Snapshot]],
) -> Iterator[Callable[..., Remedies]]:
    """Remedies for the server's kernels, with the operator's rules."""
    leave_no_trace(jp_serverapp.kernel_manager, jp_serverapp.web_app.settings)
    channel = KernelChannel(jp_serverapp.kernel_manager)

    def remedies(
        park_ticked: bool = False,
        read: Callable[[], Awaitable[wire.Snapshot]] = read,
        **rules: bool,
    ) -> Remedies:
        return Remedies(
            registry,
            channel,
            read,
            describer.measured,
            rules=Rules(**rules),
            park_ticked=lambda: park_ticked,
        )

    yield remedies
    channel.close()


@pytest.fixture
def person(
    jp_serverapp: Any, jp_asyncio_loop: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Awaitable[Person]]]:
    """Opens a notebook; its kernel ends with the test."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    manager = jp_serverapp.kernel_manager
    people: list[Person] = []

    async def open_notebook(path: str = "train.ipynb", kernel_name: str = "python3") -> Person:
        session = await jp_serverapp.session_manager.create_session(
            path=path, name=os.path.basename(path), type="notebook", kernel_name=kernel_name
        )
        person = Person(manager, session["kernel"]["id"])
        people.append(person)
        await person.sit_down()
        return person

    yield open_notebook
    for person in people:
        person.close()
        if person.kernel_id in manager:
            jp_asyncio_loop.run_until_complete(manager.shutdown_kernel(person.kernel_id, now=True))
