"""What may be ended from the panel, and how."""

from __future__ import annotations

import time
from typing import Any

import psutil
import pytest
from families import GIB, Family
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.ending import end
from jupyterlab_vram.kernels.errors import NotYours

SLEEP = "import time; print(__import__('os').getpid(), flush=True); time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEP


def snapshot(process: psutil.Process, **row: Any) -> wire.Snapshot:
    holder = wire.Holder(**{"gpu": "GPU-0", "pid": process.pid, "bytes": GIB, **row})
    return wire.Snapshot(version="", taken_at=0.0, source="simulated", state="ok", holders=[holder])


async def test_a_leftover_ends_when_asked(family: Family) -> None:
    process = family.start(SLEEP)
    family.told(process)
    ended = await end(process.pid, process.create_time(), snapshot(process, kind="leftover"))
    assert ended.ended
    assert "has ended" in ended.text
    assert process.status() == psutil.STATUS_ZOMBIE


async def test_one_that_does_not_listen_is_forced(family: Family) -> None:
    process = family.start(STUBBORN)
    family.told(process)
    began = time.monotonic()
    ended = await end(
        process.pid, process.create_time(), snapshot(process, kind="leftover"), patience=0.5
    )
    assert time.monotonic() - began >= 0.5
    assert ended.ended
    assert "forced" in ended.text
    assert process.status() == psutil.STATUS_ZOMBIE


async def test_one_that_has_ended_already(family: Family) -> None:
    process = family.start(SLEEP)
    started = process.create_time()
    seen = snapshot(process, kind="leftover")
    family.reap(process)
    assert (await end(process.pid, started, seen)).ended


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"kind": "own"}, "kernel started"),
        ({"kind": "other-user"}, "kernel started"),
        ({"kind": "system"}, "kernel started"),
        ({"kind": "unseen"}, "kernel started"),
        ({"kind": "shared"}, "depend"),
        ({"kind": "kernel", "role": "main"}, "restart"),
        ({"kind": "leftover", "pid": 1 << 21}, "holds no GPU memory"),
    ],
)
async def test_what_is_refused_stays_alive(family: Family, row: dict[str, Any], words: str) -> None:
    process = family.start(SLEEP)
    with pytest.raises(NotYours, match=words):
        await end(process.pid, process.create_time(), snapshot(process, **row))
    assert process.is_running()
    assert process.status() != psutil.STATUS_ZOMBIE


async def test_a_number_that_was_given_away(family: Family) -> None:
    process = family.start(SLEEP)
    with pytest.raises(NotYours, match="another one"):
        await end(process.pid, process.create_time() - 60, snapshot(process, kind="leftover"))
    assert process.status() != psutil.STATUS_ZOMBIE


async def test_the_system_is_never_touched() -> None:
    process = psutil.Process(1)
    with pytest.raises(NotYours):
        await end(1, process.create_time(), snapshot(process, kind="leftover"))


@pytest.mark.skipif(psutil.Process().uids().real != 0, reason="only root can become another user")
async def test_another_users_process(family: Family) -> None:
    process = family.start("import os; os.setuid(65534);" + SLEEP)
    family.told(process)
    with pytest.raises(NotYours, match="another user"):
        await end(process.pid, process.create_time(), snapshot(process, kind="leftover"))
    assert process.status() != psutil.STATUS_ZOMBIE
