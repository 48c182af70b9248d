"""Where the driver hides processes or sizes, kernels tell themselves what they hold."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import asking
from jupyterlab_vram.kernels.activity import leave_no_trace
from jupyterlab_vram.kernels.asking import Asking
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.kernels.describe import Describer
from jupyterlab_vram.kernels.registry import KernelRegistry
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.probe.open_devices import gpu_in_use_by
from jupyterlab_vram.simulated.ledger import Ledger
from users import CACHE, TAKE, Person

GIB = 1 << 30
CONTEXT = 300 << 20
HAS_AGENT = "assert 'vram_request' in get_ipython().kernel.control_handlers"

Read = Callable[[], Awaitable[wire.Snapshot]]
Sit = Callable[..., Awaitable[Person]]


@pytest.fixture
def asker(
    jp_serverapp: Any,
    jp_asyncio_loop: Any,
    registry: KernelRegistry,
    describer: Describer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Asking]:
    monkeypatch.setattr(asking, "EVERY", 0.1)
    monkeypatch.setattr(asking, "EVERY_BUSY", 0.2)
    monkeypatch.setattr(asking, "QUIET", 0.2)
    leave_no_trace(jp_serverapp.kernel_manager, jp_serverapp.web_app.settings)
    channel = KernelChannel(jp_serverapp.kernel_manager)
    asker = Asking(
        registry, channel, describer.measured, lambda pid: gpu_in_use_by([pid], "simulated")
    )
    yield asker
    jp_asyncio_loop.run_until_complete(asker.close())
    channel.close()


async def after_asking(asker: Asking, read: Read, seconds: float = 1.5) -> wire.Snapshot:
    """What is read while kernels are asked, as when somebody looks for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        asker.look(await read())
        await asyncio.sleep(0.15)
    return await read()


async def test_a_hidden_kernel_tells_how_much_it_holds(
    asker: Asking, read: Read, person: Sit, ledger: Ledger
) -> None:
    someone, other = await person(), await person("empty.ipynb")
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=1))
    ledger.set_device(0, hide_processes=1)
    hidden = await read()
    assert (hidden.views.processes, hidden.holders) == ("none", [])
    assert [kernel.bytes for kernel in hidden.kernels] == [None, None]

    active = someone.last_activity
    snapshot = await after_asking(asker, read)
    assert someone.last_activity == active and someone.state == "idle"
    [row] = snapshot.holders
    assert (row.kernel_id, row.kind, row.role) == (someone.kernel_id, "kernel", "main")
    assert (row.notebook, row.bytes_from) == ("train.ipynb", "kernel")
    assert row.bytes == 4 * GIB + CONTEXT
    kernels = {kernel.id: kernel for kernel in snapshot.kernels}
    assert kernels[someone.kernel_id].gpus == {row.gpu: row.bytes}
    assert kernels[someone.kernel_id].bytes == row.bytes
    assert kernels[other.kernel_id].bytes is None
    assert snapshot.unattributed == [], "its own figure is all that is in use"

    # a kernel that does not have the GPU open was left alone
    assert (await other.run(HAS_AGENT))["status"] == "error"

    await someone.run("del x; simulated.empty_cache(); y = simulated.empty(2 << 30, 'uint8')")
    snapshot = await after_asking(asker, read, 0.6)
    assert snapshot.kernels[0].bytes == 2 * GIB + CONTEXT


async def test_a_size_that_the_driver_hides_is_the_kernels(
    asker: Asking, read: Read, person: Sit, ledger: Ledger
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_device(0, wddm=1)
    [row] = (await read()).holders
    assert row.bytes is None
    snapshot = await after_asking(asker, read)
    [row] = snapshot.holders
    assert (row.bytes, row.bytes_from) == (2 * GIB + CONTEXT, "kernel")


async def test_another_containers_numbers_are_not_counted_again(
    asker: Asking, read: Read, person: Sit, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyterlab_vram.probe.host.in_pid_namespace", lambda: True)
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_driver(pid_offset=1_000_000)
    snapshot = await after_asking(asker, read)
    unseen, own = snapshot.holders
    assert (unseen.kind, unseen.bytes) == ("unseen", None)
    assert (own.kernel_id, own.bytes) == (someone.kernel_id, 2 * GIB + CONTEXT)
    used = snapshot.gpus[0].memory.used
    assert used == own.bytes + sum(rest.bytes for rest in snapshot.unattributed)


async def test_what_the_driver_tells_is_not_asked_for(
    asker: Asking, read: Read, person: Sit
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    snapshot = await after_asking(asker, read)
    assert [row.bytes_from for row in snapshot.holders] == ["driver"]
    assert (await someone.run(HAS_AGENT))["status"] == "error"


async def test_a_busy_kernel_gets_no_code_and_one_that_has_it_is_asked_on(
    asker: Asking, read: Read, person: Sit, ledger: Ledger
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_device(0, hide_processes=1)
    await someone.begin("import time; time.sleep(4); y = simulated.empty(1 << 30, 'uint8')")
    assert (await after_asking(asker, read, 1.0)).holders == []
    await someone.until_idle()
    assert (await someone.run(HAS_AGENT))["status"] == "error"

    [row] = (await after_asking(asker, read)).holders
    assert row.bytes == 3 * GIB + CONTEXT
    await someone.begin("del x; simulated.empty_cache(); time.sleep(5)")
    [row] = (await after_asking(asker, read, 2)).holders
    assert row.bytes == GIB + CONTEXT and someone.state == "busy"
    await someone.until_idle()


async def test_a_silent_kernels_last_answer_stays_with_its_age_and_holds_nothing_up(
    asker: Asking, read: Read, person: Sit, ledger: Ledger
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_device(0, hide_processes=1)
    asked_at = (await after_asking(asker, read)).kernels[0].asked_at
    assert asked_at is not None
    await someone.begin("import ctypes, time; time.sleep(0.5); ctypes.PyDLL(None).sleep(3)")
    await asyncio.sleep(0.6)
    begun = time.time()
    for _ in range(4):
        started = time.monotonic()
        snapshot = await read()
        asker.look(snapshot)
        assert time.monotonic() - started < 0.9
        await asyncio.sleep(0.3)
    [kernel] = snapshot.kernels
    assert kernel.asked_at is not None and kernel.asked_at < begun
    assert kernel.bytes == 2 * GIB + CONTEXT
    await someone.until_idle()
    assert (await after_asking(asker, read)).kernels[0].asked_at > begun


async def test_a_running_cell_is_asked_less_often(
    asker: Asking,
    read: Read,
    person: Sit,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "EVERY_BUSY", 60.0)
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_device(0, hide_processes=1)
    assert (await after_asking(asker, read)).kernels[0].asked_at is not None
    await someone.begin("import time; time.sleep(2)")
    await after_asking(asker, read, 0.5)
    begun = time.time()
    asked_at = (await after_asking(asker, read, 1.0)).kernels[0].asked_at
    assert asked_at is not None and asked_at < begun and someone.state == "busy"
    await someone.until_idle()


async def test_a_restart_forgets_what_was_told_and_asks_anew(
    asker: Asking, read: Read, person: Sit, ledger: Ledger, jp_serverapp: Any
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2))
    ledger.set_device(0, hide_processes=1)
    assert len((await after_asking(asker, read)).holders) == 1
    await jp_serverapp.kernel_manager.restart_kernel(someone.kernel_id)
    assert (await read()).holders == []
    await someone.sit_down()
    await someone.run(TAKE.format(gib=1))
    [row] = (await after_asking(asker, read)).holders
    assert row.bytes == GIB + CONTEXT


async def test_what_a_hidden_kernel_gives_back_is_measured_by_its_framework(
    asker: Asking, read: Read, person: Sit, ledger: Ledger, remedies: Callable[..., Remedies]
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=1))
    ledger.set_device(0, hide_processes=1)
    await after_asking(asker, read)
    request = wire.RunRequest(remedies=[wire.RunStep(id="release-cache")])
    report = await remedies().run(someone.kernel_id, request, lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed, step.freed_by) == (True, GIB, "framework")
    [row] = (await after_asking(asker, read, 0.6)).holders
    assert row.bytes == 3 * GIB + CONTEXT
