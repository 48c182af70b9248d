"""One thread for all driver calls, with the simulated GPU's real delays."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import TimeoutError as FutureTimeout

import pytest
from jupyterlab_vram.probe import DriverThread, DriverThreadClosed, make_probe, timeout_reading
from jupyterlab_vram.probe.simulated import SimulatedProbe

INIT = "nvmlInit_v2"


@pytest.fixture
def driver(ledger):
    thread = DriverThread(lambda: make_probe("simulated"))
    yield thread
    thread.close()


def test_nothing_is_called_before_it_is_asked_for(ledger, driver):
    time.sleep(0.05)
    assert driver.calls == 0
    assert ledger.calls() == {}
    assert driver.source is None
    assert not [t for t in threading.enumerate() if t.name == "vram-driver"]


def test_a_reading_comes_from_the_thread(driver):
    reading = driver.request().result(5)
    assert (reading.state, reading.source) == ("ok", "simulated")
    assert (driver.calls, driver.source, driver.since) == (1, "simulated", None)
    assert driver.seconds > 0


def test_all_who_ask_while_one_is_in_flight_share_it(ledger, driver):
    ledger.inject(INIT, slow_ms=300)
    futures = [driver.request() for _ in range(30)]
    assert len({id(future) for future in futures}) == 1
    assert len({id(future.result(5)) for future in futures}) == 1
    assert driver.calls == ledger.calls()[INIT] == 1
    assert driver.request().result(5) is not futures[0].result()
    assert driver.calls == ledger.calls()[INIT] == 2


def test_one_callers_time_limit_does_not_end_the_others(ledger, driver):
    ledger.inject(INIT, slow_ms=300)

    async def ask():
        patient = asyncio.wrap_future(driver.request())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(driver.request()), 0.05)
        assert driver.since is not None
        return await patient

    assert asyncio.run(ask()).state == "ok"
    assert driver.calls == 1


def test_close_returns_at_once_while_a_call_hangs(ledger, driver):
    ledger.inject(INIT, slow_ms=3000)
    future = driver.request()
    with pytest.raises(FutureTimeout):
        future.result(0.05)
    began = time.monotonic()
    driver.close()
    assert time.monotonic() - began < 0.1
    with pytest.raises(DriverThreadClosed):
        future.result(0.1)
    with pytest.raises(DriverThreadClosed):
        driver.request().result(0.1)


def test_the_interpreter_ends_while_a_call_hangs_for_ten_seconds(ledger):
    ledger.inject(INIT, slow_ms=10_000)
    began = time.monotonic()
    code = """
from concurrent.futures import TimeoutError
from jupyterlab_vram.probe import DriverThread, make_probe
driver = DriverThread(lambda: make_probe("simulated"))
try:
    driver.request().result(0.2)
except TimeoutError:
    print("waited")
driver.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=9)
    assert (done.returncode, done.stdout, done.stderr) == (0, "waited\n", "")
    assert time.monotonic() - began < 9


def test_a_probe_that_fails_unforeseen_is_told_and_tried_again(ledger, caplog):
    makes = []

    def make():
        makes.append(1)
        if len(makes) < 3:
            raise ImportError("no such library")
        return make_probe("simulated")

    driver = DriverThread(make)
    for _ in range(2):
        reading = driver.request().result(5)
        assert (reading.state, reading.gpus) == ("no-driver", ())
        assert "no such library" in reading.problem.text
    assert driver.request().result(5).state == "ok"
    assert [bool(record.exc_info) for record in caplog.records].count(True) == 1
    driver.close()


def test_the_driver_is_let_go_of_when_nobody_asks(ledger):
    released = threading.Event()

    class Watched(SimulatedProbe):
        def close(self):
            super().close()
            released.set()

    driver = DriverThread(Watched, release_after=0.05)
    assert driver.request().result(5).state == "ok"
    assert released.wait(5)
    assert driver.request().result(5).state == "ok", "and taken hold of again"
    released.clear()
    driver.close()
    assert released.wait(5)


def test_a_change_is_logged_once(ledger, driver, caplog):
    caplog.set_level(logging.INFO, "jupyterlab_vram.probe")

    def states(times):
        return {driver.request().result(5).state for _ in range(times)}

    assert states(3) == {"ok"}
    assert caplog.messages == []
    ledger.inject(INIT, code="LIB_RM_VERSION_MISMATCH")
    assert states(5) == {"version-mismatch"}
    ledger.clear_injected()
    assert states(3) == {"ok"}
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "updated but not reloaded" in caplog.messages[0]


def test_the_reading_for_a_call_that_hangs():
    reading = timeout_reading("nvml", 10.2)
    assert (reading.state, reading.source) == ("timeout", "nvml")
    assert "10 s" in reading.problem.text
    assert abs(reading.taken_at - time.time()) < 1


def test_importing_calls_no_driver_and_loads_no_library():
    code = """
import sys
import jupyterlab_vram.probe
print("pynvml" in sys.modules)
jupyterlab_vram.probe.make_probe("auto")
import pynvml
print(pynvml.nvmlLib)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["False", "None"], done.stderr
