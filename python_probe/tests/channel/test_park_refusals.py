"""What parking refuses, in real kernels, and that it says why and changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from channel_user import GENERATIONS
from jupyterlab_vram.kernels.answers import ParkCheck
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.simulated.ledger import Ledger
from park_user import DATA, EXECUTE, FULL, answer, done, held, installed, is_parked

ALIVE = """
import asyncio, signal, socket, threading, time, _thread
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from tornado.ioloop import IOLoop, PeriodicCallback

threading.Thread(target=time.sleep, args=(99,), daemon=True, name='loader').start()
timer = threading.Timer(99, print); timer.name = 'saver'; timer.start()
pool = ThreadPoolExecutor(thread_name_prefix='pool'); pool.submit(time.sleep, 99)
_thread.start_new_thread(lambda: time.sleep(99), ())

async def train(): await asyncio.sleep(99)
tasks = [asyncio.ensure_future(train()), asyncio.ensure_future(asyncio.sleep(99))]

def redraw(): pass
def reload(): pass
asyncio.get_event_loop().call_later(99, redraw)
again = PeriodicCallback(reload, 99000); again.start()
server = await asyncio.start_server(print, '127.0.0.1', 0)

signal.signal(signal.SIGALRM, print); signal.setitimer(signal.ITIMER_REAL, 99)
get_ipython().kernel.eventloop = lambda kernel: time.sleep(0.1)
"""
ANY_MOMENT = "of the notebook's are alive and could use the data at any moment"


@GENERATIONS
async def test_code_that_needs_no_request_is_named(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await installed(notebook, channel, DATA + ALIVE)
    before = held(tmp_path, notebook)
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.ok
    threads, tasks, callbacks, signals, windows = checked.refused
    assert threads == (
        f"4 threads {ANY_MOMENT} (loader, saver, pool_0, …). To park, end them first."
    )
    assert tasks.startswith(f"2 asynchronous tasks {ANY_MOMENT} (")
    assert "train" in tasks and "sleep" in tasks and tasks.endswith(" cancel them first.")
    assert callbacks.startswith(f"3 timers or callbacks {ANY_MOMENT} (")
    assert all(name in callbacks for name in ("redraw", "reload", "a connection"))
    assert signals == "A signal timer is set, whose code could use the data at any moment."
    assert windows.startswith("A window system's event loop runs in the kernel (%gui or an ")

    failed = await done(notebook, channel, "park")
    assert not failed.ok
    assert failed.text == f"Not parked; nothing was changed. {' '.join(checked.refused)}"
    assert held(tmp_path, notebook) == before
    assert not await is_parked(notebook, channel)


CALLED = {
    "loop.call_later(99, redraw)": "redraw",
    "loop.call_later(99, Saver())": "Saver",
    "loop.call_later(99, types.MethodType(Saver(), 1))": "Saver",
    "IOLoop.current().call_later(99, lru_cache(redraw))": "_lru_cache_wrapper",
    "again = PeriodicCallback(redraw, 99000); again.start()": "redraw",
    "server = await asyncio.start_server(print, '127.0.0.1', 0)": "a connection",
    "ends = socket.socketpair(); loop.add_reader(ends[0], partial(redraw))": "a connection",
}


async def test_whatever_can_be_called_back_is_named(start: Any, channel: KernelChannel) -> None:
    imports, _, _ = ALIVE.partition("threading.Thread(")
    hostile = """
class Kind(type):
    def __eq__(cls, other): raise RuntimeError
    def __hash__(cls): raise RuntimeError
class Saver(metaclass=Kind):
    def __call__(self): pass
    def __getattr__(self, name): raise RuntimeError
def redraw(): pass
loop = asyncio.get_event_loop()
"""
    for code, name in CALLED.items():
        notebook = await start()
        await installed(notebook, channel, f"{DATA}{imports}import types\n{hostile}{code}; None")
        checked = await channel.park_check(notebook.kernel_id)
        assert isinstance(checked, ParkCheck) and checked.ok, (code, checked)
        (refused,) = checked.refused
        assert refused.startswith("One timer or callback") and f"({name})" in refused, code
        notebook.kernel.provisioner.process.kill()


async def test_every_timer_of_the_system_is_a_reason(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await installed(notebook, channel, DATA + "import signal")
    for timer in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
        await notebook.run(f"signal.setitimer(signal.{timer}, 99)")
        checked = await channel.park_check(notebook.kernel_id)
        assert isinstance(checked, ParkCheck)
        (refused,) = checked.refused
        assert refused.startswith("A signal timer is set"), timer
        await notebook.run(f"signal.setitimer(signal.{timer}, 0)")
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == []


@GENERATIONS
async def test_what_waits_for_work_is_no_reason(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    pool = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(); pool.submit(print).result()\n"
        "import asyncio\nawait asyncio.get_event_loop().run_in_executor(None, print)\n"
        "await asyncio.sleep(0.01)"
    )
    await installed(notebook, channel, DATA + pool)
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == []


async def test_the_debuggers_threads_are_no_reason(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await installed(notebook, channel)
    asked = {"type": "request", "seq": 1, "command": "initialize", "arguments": {}}
    assert (await answer(notebook, "debug_request", asked, "control"))["success"]
    asked = {"type": "request", "seq": 2, "command": "attach", "arguments": {}}
    notebook.client.control_channel.send(notebook.client.session.msg("debug_request", asked))
    await asyncio.sleep(1)
    await notebook.idle()
    assert await notebook.evaluate("'pydevd' in __import__('sys').modules")
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == []


@pytest.mark.parametrize("road", ["a subshell", "the control channel"])
async def test_a_request_that_runs_beside_it_is_a_reason(
    start: Any, channel: KernelChannel, road: str
) -> None:
    notebook = await start()
    await installed(notebook, channel)
    message = notebook.client.session.msg("execute_request", EXECUTE | {"code": SLEEPS})
    if road == "the control channel":
        notebook.client.control_channel.send(message)
    else:
        made = await answer(notebook, "create_subshell_request", {}, "control")
        message["header"]["subshell_id"] = made["subshell_id"]
        notebook.client.shell_channel.send(message)
    await asyncio.sleep(0.5)
    checked = await asked_anyway(notebook, "park")
    assert checked["text"].startswith(
        "Not parked; nothing was changed. One thread of the notebook's is alive and could use the "
        f"data at any moment ({road}'s, which runs code now)."
    )
    await asyncio.sleep(2)
    await notebook.idle()
    assert await notebook.evaluate("seen") == FULL


SLEEPS = "import time; time.sleep(2)"


async def asked_anyway(notebook: Any, op: str) -> Any:
    """As the channel asks, but for its look at whether the kernel is busy."""
    return await answer(notebook, "vram_request", {"op": op})


async def test_too_little_host_ram_is_a_reason(
    start: Any, channel: KernelChannel, tmp_path: Path
) -> None:
    large = tmp_path / "large"
    Ledger.create(large, {"devices": [{"card": "80-gib"}] * 8}).close()
    notebook = await start(VRAM_SIMULATED_LEDGER=str(large))
    await installed(
        notebook,
        channel,
        "from jupyterlab_vram import simulated\n"
        "ram = int(open('/proc/meminfo').read().split('MemTotal:')[1].split()[0]) << 10\n"
        "x = [simulated.empty(ram // 8, 'uint8', device) for device in range(8)]",
    )
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.host_left == 0
    (refused,) = checked.refused
    assert refused.startswith("The host's RAM is too small: ")
    assert refused.endswith(" more in use less than 20% of it would stay free.")


async def test_nothing_to_move_is_a_reason(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await installed(notebook, channel, "x = 1")
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck)
    assert checked.refused == ["There is no GPU data of PyTorch's in this notebook to move."]
    failed = await done(notebook, channel, "restore")
    assert failed.text == "Nothing of this notebook's is parked."
