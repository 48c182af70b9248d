import asyncio
import logging
import threading
import time

import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.probe import DriverThread, Reading, timeout_reading
from jupyterlab_vram.server import sampler as module
from jupyterlab_vram.server.sampler import Sampler

LOG = logging.getLogger(__name__)


class StubbornProbe:
    """A driver whose calls hang while it is not ``free``."""

    source = "nvml"

    def __init__(self):
        self.reads = 0
        self.free = threading.Event()
        self.free.set()

    def read(self):
        self.reads += 1
        self.free.wait(10)
        return Reading(taken_at=time.time(), source="nvml", state="ok")

    def close(self):
        pass


class Stand:
    """A sampler with everything around it in the test's hands."""

    def __init__(self, interval=0.05, read_limit=0.2):
        self.probe = StubbornProbe()
        self.watched = False
        self.used = False
        self.samples = []
        self.sampler = Sampler(
            DriverThread(lambda: self.probe),
            describe=self.describe,
            timed_out=lambda seconds: timeout_reading("nvml", seconds),
            in_use=self.in_use,
            interval=lambda: interval,
            read_limit=read_limit,
            watched=lambda: self.watched,
            publish=self.samples.append,
            log=LOG,
        )

    async def describe(self, reading):
        return wire.Snapshot(
            version="1",
            taken_at=reading.taken_at,
            source=reading.source,
            state=reading.state,
            problem=reading.problem,
        )

    async def in_use(self):
        return self.used

    def watch(self):
        self.watched = True
        self.sampler.hurry()


@pytest.fixture
def stand(jp_asyncio_loop):
    stand = Stand()
    yield stand
    stand.probe.free.set()
    jp_asyncio_loop.run_until_complete(stand.sampler.close())


async def test_nobody_looks_so_the_driver_is_never_called(stand, monkeypatch):
    monkeypatch.setattr(module, "BACKGROUND", 0.02)
    stand.sampler.start()
    await asyncio.sleep(0.3)
    assert stand.probe.reads == 0
    assert stand.sampler.driver.calls == 0


async def test_a_kernel_on_the_gpu_is_recorded_in_the_background(stand, monkeypatch):
    monkeypatch.setattr(module, "BACKGROUND", 0.1)
    stand.used = True
    stand.sampler.start()
    await asyncio.sleep(0.35)
    assert 3 <= len(stand.samples) <= 4
    assert {sample.every for sample in stand.samples} == {0.1}


async def test_it_wakes_at_once_and_reads_at_the_interval_while_watched(stand):
    stand.sampler.start()
    await asyncio.sleep(0.05)
    stand.watch()
    await asyncio.sleep(0.03)
    assert len(stand.samples) == 1
    await asyncio.sleep(0.5)
    reads = stand.probe.reads
    assert 8 <= reads <= 12
    stand.watched = False
    await asyncio.sleep(0.2)
    assert stand.probe.reads <= reads + 1


async def test_callers_share_a_reading(stand):
    samples = await asyncio.gather(*(stand.sampler.read() for _ in range(30)))
    assert stand.probe.reads == 1
    assert len({id(sample) for sample in samples}) == 1
    assert await stand.sampler.read(max_age=10) is samples[0]
    assert stand.probe.reads == 1
    assert await stand.sampler.read() is not samples[0]


async def test_a_fresh_reading_begins_after_it_was_asked_for(stand):
    stand.probe.free.clear()
    early = asyncio.ensure_future(stand.sampler.read())
    await asyncio.sleep(0.05)
    asked = time.time()
    fresh = asyncio.ensure_future(stand.sampler.read())
    await asyncio.sleep(0.05)
    stand.probe.free.set()
    assert (await fresh).snapshot.taken_at >= asked
    assert stand.probe.reads == 2
    await early


async def test_a_hanging_call_is_told_and_blocks_nothing(stand):
    stand.probe.free.clear()
    stand.watch()
    stand.sampler.start()
    await asyncio.sleep(0.15)
    assert stand.samples == []
    await asyncio.sleep(0.3)
    # After the limit has passed once, each tick says so at once; the one call still hangs.
    assert len(stand.samples) >= 3
    assert {sample.snapshot.state for sample in stand.samples} == {"timeout"}
    assert "has not answered" in stand.samples[-1].snapshot.problem.text
    assert stand.probe.reads == 1
    began = time.monotonic()
    assert (await stand.sampler.read()).snapshot.state == "timeout"
    assert time.monotonic() - began < 0.05
    stand.probe.free.set()
    await asyncio.sleep(0.15)
    assert stand.samples[-1].snapshot.state == "ok"


async def test_closing_does_not_wait_for_a_hanging_call(stand):
    stand.probe.free.clear()
    stand.watch()
    stand.sampler.start()
    waiting = asyncio.ensure_future(stand.sampler.read())
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await stand.sampler.close()
    assert time.monotonic() - began < 0.05
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_another_source_takes_over_while_the_old_one_hangs(stand):
    stand.probe.free.clear()
    waiting = asyncio.ensure_future(stand.sampler.read())
    await asyncio.sleep(0.05)
    other = StubbornProbe()
    stand.sampler.use(DriverThread(lambda: other))
    assert (await asyncio.wait_for(waiting, 1)).snapshot.state == "ok"
    assert other.reads == 1


async def test_a_fault_of_ours_is_logged_once_and_tried_again(stand, caplog):
    describe = stand.sampler._describe

    async def broken(reading):
        raise RuntimeError("a defect")

    stand.sampler._describe = broken
    stand.watch()
    stand.sampler.start()
    await asyncio.sleep(0.2)
    assert stand.probe.reads > 2
    assert [record.name for record in caplog.records].count(LOG.name) == 1
    assert "a defect" in caplog.text
    stand.sampler._describe = describe
    await asyncio.sleep(0.2)
    assert stand.samples
