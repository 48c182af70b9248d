"""What the channel does with kernels, and what others notice of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from channel_user import GENERATIONS, until
from jupyterlab_vram import agent
from jupyterlab_vram.kernels.activity import ActivityKept
from jupyterlab_vram.kernels.answers import (
    Busy,
    Figures,
    Gone,
    Installed,
    NoAgent,
    RemedyDone,
    Silent,
)
from jupyterlab_vram.kernels.channel import KernelChannel

HAS_HANDLER = "'vram_request' in get_ipython().kernel.control_handlers"

# The pause lets the kernel say that it is busy, which in ipykernel 6 another thread does.
HOLDS_THE_LOCK = "import ctypes, time; time.sleep(0.5); ctypes.PyDLL(None).sleep(4)"


@GENERATIONS
async def test_nobody_can_tell_that_we_were_there(
    start: Any, channel: KernelChannel, kernels: Any, kind: str
) -> None:
    notebook = await start(kind)
    await notebook.run("x = 41")
    await notebook.run("x + 1")
    before = await notebook.state()
    active, server_active = notebook.kernel.last_activity, kernels.last_kernel_activity
    await asyncio.sleep(0.05)

    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    for _ in range(3):
        assert isinstance(await channel.figures(notebook.kernel_id), Figures)
    for op in ("collect", "release-cache"):
        done = await channel.remedy(notebook.kernel_id, op)
        assert isinstance(done, RemedyDone) and done.ok, done
    await asyncio.sleep(0.3)

    assert notebook.kernel.last_activity == active
    assert kernels.last_kernel_activity == server_active
    assert notebook.kernel.execution_state == "idle"
    assert await notebook.state() == before


@GENERATIONS
async def test_figures_come_while_a_cell_sleeps_and_it_stays_busy(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    cell = await notebook.started("import time; time.sleep(4)")
    states: list[str] = []
    notebook.kernel.observe(lambda change: states.append(change["new"]), "execution_state")

    began = time.monotonic()
    for _ in range(5):
        assert isinstance(await channel.figures(notebook.kernel_id), Figures)
    took = time.monotonic() - began
    assert isinstance(await channel.remedy(notebook.kernel_id, "collect"), Busy)
    await asyncio.sleep(0.3)
    assert states == []
    assert took < 3

    assert (await notebook.reply(cell))["status"] == "ok"


@GENERATIONS
async def test_code_that_holds_pythons_lock_makes_it_silent(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    cell = await notebook.started(HOLDS_THE_LOCK)
    await asyncio.sleep(1)

    began = time.monotonic()
    assert isinstance(await channel.figures(notebook.kernel_id), Silent)
    assert time.monotonic() - began < 3

    await notebook.reply(cell)
    await notebook.idle()
    assert isinstance(await channel.figures(notebook.kernel_id), Figures)


@GENERATIONS
async def test_a_busy_kernel_gets_no_code(start: Any, channel: KernelChannel, kind: str) -> None:
    notebook = await start(kind)
    cell = await notebook.started("import time; time.sleep(3)")
    assert isinstance(await channel.install(notebook.kernel_id), Busy)

    # What other extensions do: their request flips the server's state during the cell.
    notebook.client.control_channel.send(notebook.client.session.msg("usage_request", {}))
    await until(lambda: notebook.kernel.execution_state == "idle")
    assert isinstance(await channel.install(notebook.kernel_id), Busy)

    await notebook.reply(cell)
    await asyncio.sleep(0.5)
    assert await notebook.evaluate(HAS_HANDLER) is False


async def test_a_kernel_that_is_shut_down_is_gone(
    start: Any, channel: KernelChannel, kernels: Any
) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await kernels.shutdown_kernel(notebook.kernel_id, now=True)
    assert isinstance(await channel.figures(notebook.kernel_id), Gone)
    assert isinstance(await channel.install(notebook.kernel_id), Gone)
    assert isinstance(await channel.remedy(notebook.kernel_id, "collect"), Gone)


@GENERATIONS
async def test_a_restart_needs_a_new_install(
    start: Any, channel: KernelChannel, kernels: Any, kind: str
) -> None:
    notebook = await start(kind)
    first = await channel.install(notebook.kernel_id)
    await kernels.restart_kernel(notebook.kernel_id)
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, NoAgent) and figures.possible
    second = await channel.install(notebook.kernel_id)
    while isinstance(second, Silent):  # Still starting.
        second = await channel.install(notebook.kernel_id)
    assert isinstance(first, Installed) and isinstance(second, Installed)
    assert first.pid != second.pid


@GENERATIONS
async def test_it_survives_a_reset_and_a_second_server(
    start: Any, channel: KernelChannel, kernels: Any, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run("%reset -f")
    handlers = "sorted(get_ipython().kernel.shell_handlers)"
    once = await notebook.evaluate(handlers)
    other = KernelChannel(kernels)
    try:
        assert isinstance(await other.install(notebook.kernel_id), Installed)
        assert isinstance(await other.figures(notebook.kernel_id), Figures)
    finally:
        other.close()
    assert isinstance(await channel.figures(notebook.kernel_id), Figures)
    assert await notebook.evaluate(handlers) == once


async def test_another_versions_agent_is_replaced(
    start: Any, channel: KernelChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "get_ipython().kernel.control_handlers['vram_request'].__self__.version = 'older'"
    )
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, NoAgent) and figures.possible
    installed = await channel.install(notebook.kernel_id)
    assert isinstance(installed, Installed) and installed.version == agent.version()
    assert isinstance(await channel.figures(notebook.kernel_id), Figures)


@GENERATIONS
async def test_names_that_the_notebook_rebound_do_not_matter(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await notebook.run("exec = compile = json = os = time = get_ipython = open = None")
    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    assert isinstance(await channel.figures(notebook.kernel_id), Figures)


@pytest.mark.parametrize("kind", ["other", "not-python"])
async def test_kernels_that_are_not_ipykernel_get_no_code(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    answer = await channel.install(notebook.kernel_id)
    assert isinstance(answer, NoAgent) and not answer.possible
    assert await notebook.evaluate(HAS_HANDLER) is False


@pytest.mark.parametrize(
    "answer",
    ["{}", "{'version': 3}", "{'version': 'x', 'pid': -1, 'hostname': [], 'frameworks': 5}"],
)
async def test_nonsense_is_no_answer(start: Any, channel: KernelChannel, answer: str) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "kernel = get_ipython().kernel\n"
        "kernel.control_handlers['vram_request'] = lambda stream, ident, parent: "
        f"kernel.session.send(stream, 'vram_reply', {answer}, parent=parent, ident=ident)"
    )
    assert isinstance(await channel.figures(notebook.kernel_id), Silent)


async def test_sockets_are_closed_again(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await channel.figures(notebook.kernel_id)
    await asyncio.sleep(0.3)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        await channel.figures(notebook.kernel_id)
    await asyncio.sleep(0.3)
    assert len(os.listdir("/proc/self/fd")) <= before + 2


async def test_closing_waits_for_no_kernel(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    cell = await notebook.started(HOLDS_THE_LOCK)
    await asyncio.sleep(1)
    waiting = asyncio.ensure_future(channel.figures(notebook.kernel_id))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    channel.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - began < 2
    await notebook.reply(cell)


async def test_somebody_elses_activity_in_the_meantime_counts(start: Any, kernels: Any) -> None:
    notebook = await start()
    before = notebook.kernel.last_activity
    with ActivityKept(kernels, notebook.kernel) as activity:
        await notebook.run("1 + 1")
        await activity.settled()
    assert notebook.kernel.last_activity > before


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"jpserver_extensions": {"jupyterlab": True}}}]
)
async def test_the_browser_is_told_not_to_count_our_messages(
    kernels: Any, jp_fetch: Callable[..., Any], jp_server_config: Any, tmp_path: Path
) -> None:
    page = (await jp_fetch("lab")).body.decode()
    assert '"kernel_info_request"' in page
    assert '"vram_request"' in page
