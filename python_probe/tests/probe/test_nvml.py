"""NVML: the real nvidia-ml-py over the simulated driver, with what real drivers answer."""

import os
import time

import pynvml
import pytest
from fake_driver import boards
from jupyterlab_vram import wire
from jupyterlab_vram.probe import DriverThread, make_probe, processes
from jupyterlab_vram.probe.nvml import NvmlProbe
from jupyterlab_vram.simulated import layout

pytestmark = pytest.mark.fake_driver
GIB, MIB = 1 << 30, 1 << 20
THREE = {"devices": [boards.RTX4090, boards.H100, boards.T4]}


@pytest.fixture
def ledger(own_driver):
    return own_driver.ledger


@pytest.fixture
def new_probe(own_driver):
    made = []

    def new_probe(refresh=3600.0, retry=0.05):
        made.append(NvmlProbe(refresh, retry))
        return made[-1]

    yield new_probe
    for probe in made:
        probe.close()


@pytest.fixture
def probe(new_probe):
    return new_probe()


def again(probe, state, limit=10.0):
    """Read until the probe has tried again and says ``state``."""
    end = time.monotonic() + limit
    while (reading := probe.read()).state != state:
        assert time.monotonic() < end, reading
        time.sleep(0.02)
    return reading


class TestValues:
    def test_a_whole_reading(self, ledger, probe):
        ledger.set_device(
            0, gpu_use=97, memory_use=61, decoder_use=5, temperature=79, power=431_500, fan=68
        )
        ledger.set_device(0, clock_sm=2610, clock_memory=10_251, pcie_rx=1000, pcie_tx=250)
        ledger.set_device(0, throttling=0x1 | 0x4 | 0x40)
        ledger.add_process(4242, 0, "3 GiB")
        reading = probe.read()
        assert (reading.state, reading.source, reading.problem) == ("ok", "nvml", None)
        assert (reading.driver.version, reading.driver.cuda_version) == ("580.95.05", "13.0")
        assert abs(reading.taken_at - time.time()) < 5
        (gpu,) = reading.gpus
        assert gpu == wire.Gpu(
            uuid="GPU-51000000-0000-4000-8000-000000000001",
            index=0,
            name="NVIDIA GeForce RTX 4090",
            pci_bus_id="00000000:01:00.0",
            memory=wire.Memory(
                total=24564 * MIB,
                used=3 * GIB,
                free=(24564 - 348 - 3072) * MIB,
                reserved=348 * MIB,
            ),
            utilization=wire.Utilization(gpu=0.97, memory_bandwidth=0.61, encoder=0, decoder=0.05),
            temperature=wire.Temperature(now=79, slowdown=90),
            power=wire.Power(draw=431.5, limit=450),
            clocks=wire.Clocks(sm=2610, memory=10_251),
            fan=0.68,
            pcie=wire.Traffic(rx=1_000_000, tx=250_000),
            throttling=["heat", "power"],
        )
        (process,) = reading.processes
        assert (process.gpu, process.pid, process.bytes, process.type) == (
            gpu.uuid,
            4242,
            3 * GIB,
            "C",
        )

    @pytest.mark.parametrize(
        ("function", "paths"),
        [
            ("nvmlDeviceGetUtilizationRates", ["utilization.gpu", "utilization.memory_bandwidth"]),
            ("nvmlDeviceGetEncoderUtilization", ["utilization.encoder"]),
            ("nvmlDeviceGetDecoderUtilization", ["utilization.decoder"]),
            ("nvmlDeviceGetTemperature", ["temperature.now"]),
            ("nvmlDeviceGetPowerUsage", ["power.draw"]),
            ("nvmlDeviceGetFanSpeed", ["fan"]),
            ("nvmlDeviceGetClockInfo", ["clocks.sm", "clocks.memory"]),
            ("nvmlDeviceGetCurrentClocksEventReasons", ["throttling"]),
            ("nvmlDeviceGetPcieThroughput", ["pcie.rx", "pcie.tx"]),
            ("nvmlDeviceGetTemperatureThreshold", ["temperature.slowdown"]),
            ("nvmlDeviceGetEnforcedPowerLimit", ["power.limit"]),
            ("nvmlDeviceGetPciInfo*", ["pci_bus_id"]),
        ],
    )
    @pytest.mark.parametrize("code", ["NOT_SUPPORTED", "NO_PERMISSION", "UNKNOWN"])
    def test_each_value_stands_alone(self, new_probe, ledger, probe, function, paths, code):
        whole = wire.encode(probe.read().gpus[0])
        ledger.inject(function, code=code)
        probe = new_probe()
        for _ in range(2):
            (gpu,) = probe.read().gpus
            assert sorted(gpu.unknown) == sorted(paths)
            assert all(gpu.unknown.values())
            assert gpu.memory.total == 24564 * MIB
        lost = [p for p in paths if p not in ("throttling",)]
        for path in lost:
            value = gpu
            for part in path.split("."):
                value = getattr(value, part)
            assert value is None
        silent = function in ("nvmlDeviceGetPcieThroughput",) or "Threshold" in function
        silent = silent or function in ("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPciInfo*")
        assert gpu.health == ("sensor-error" if code == "UNKNOWN" and not silent else "ok")
        ledger.clear_injected()
        assert wire.encode(new_probe().read().gpus[0]) == whole

    def test_what_is_not_supported_is_not_asked_again(self, ledger, probe):
        ledger.set_device(0, fan=None)
        assert probe.read().gpus[0].unknown == {"fan": "Not Supported"}
        ledger.reset_calls()
        assert probe.read().gpus[0].unknown == {"fan": "Not Supported"}
        assert "nvmlDeviceGetFanSpeed" not in ledger.calls()

    def test_but_after_a_while(self, new_probe, ledger):
        probe = new_probe(refresh=0)
        ledger.set_device(0, fan=None, power_limit=300_000)
        assert probe.read().gpus[0].fan is None
        ledger.set_device(0, fan=40, power_limit=350_000)
        (gpu,) = probe.read().gpus
        assert (gpu.fan, gpu.power.limit) == (0.4, 350)

    def test_a_fan_faster_than_its_nominal_speed(self, ledger, probe):
        ledger.set_device(0, fan=105)
        assert probe.read().gpus[0].fan == 1.0

    def test_a_driver_without_the_second_memory_version(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.inject("nvmlDeviceGetMemoryInfo_v2", code="FUNCTION_NOT_FOUND")
        memory = probe.read().gpus[0].memory
        assert (memory.used, memory.reserved) == (3 * GIB + 348 * MIB, None)

    def test_older_names_of_functions(self, ledger, probe):
        ledger.set_device(0, throttling=0x20)
        ledger.add_process(4242, 0, "3 GiB", lists=layout.COMPUTE | layout.GRAPHICS)
        for function in (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
            "nvmlDeviceGetTemperature",
        ):
            ledger.inject(function, code="FUNCTION_NOT_FOUND")
        reading = probe.read()
        assert reading.gpus[0].throttling == ["heat"]
        assert reading.gpus[0].temperature.now == 38
        assert reading.gpus[0].unknown == {}
        assert [(p.pid, p.type) for p in reading.processes] == [(4242, "C+G")]

    def test_a_name_that_is_no_text(self, own_driver, probe):
        # Set by hand, because the ledger's own way in refuses what is no text.
        own_driver.ledger._file.devices[0].name = b"\xf8\xff\xfe"
        (gpu,) = probe.read().gpus
        assert gpu.name == "GPU 0"
        assert "not text" in gpu.unknown["name"]
        assert gpu.memory.total == 24564 * MIB

    def test_a_gpu_that_shares_the_systems_ram(self, own_driver, ledger, probe):
        own_driver.load("unified")
        ledger.add_process(4242, 0, "3 GiB")
        reading = probe.read()
        (gpu,) = reading.gpus
        assert gpu.memory.unified
        assert gpu.memory.used == 3 * GIB
        assert gpu.memory.total >= gpu.memory.free > 0
        ledger.add_process(4243, 0, "1 GiB", no_size=True)
        (gpu,) = probe.read().gpus
        assert gpu.memory.used is None and gpu.unknown["memory.used"]

    def test_a_gpu_that_tells_nothing_but_its_name(self, own_driver, ledger, probe):
        own_driver.load("unified")
        ledger.set_device(
            0, temperature=None, power=None, gpu_use=None, encoder_use=None, decoder_use=None
        )
        ledger.set_device(0, clock_sm=None, pcie_rx=None, pcie_tx=None)
        for _ in range(3):
            reading = probe.read()
            assert reading.state == "ok"
            assert reading.gpus[0].memory.unified

    def test_traffic_is_measured_on_one_gpu_a_reading(self, own_driver, ledger, probe):
        own_driver.load(THREE)
        for index in range(3):
            ledger.set_device(index, pcie_rx=index + 1)
        seen = [[gpu.pcie.rx for gpu in probe.read().gpus] for _ in range(3)]
        assert [sum(rx is not None for rx in row) for row in seen] == [1, 2, 3]
        assert seen[-1] == [1000, 2000, 3000]
        ledger.reset_calls()
        probe.read()
        assert ledger.calls()["nvmlDeviceGetPcieThroughput"] == 2

    def test_slices(self, own_driver, ledger, probe):
        own_driver.load(boards.SLICED)
        ledger.remove_processes()
        ledger.add_process(4242, 1, "6 GiB")
        reading = probe.read()
        card, first, second = reading.gpus
        assert (card.parent, first.parent, second.parent) == (None, card.uuid, card.uuid)
        assert (card.index, first.index, second.index) == (0, 0, 1)
        assert first.name.endswith("MIG 3g.40gb") and first.uuid.startswith("MIG-")
        assert (first.memory.used, card.memory.used, second.memory.used) == (6 * GIB, 6 * GIB, 0)
        assert first.utilization.gpu is None and "whole card" in first.unknown["utilization.gpu"]
        assert card.utilization.gpu is None and card.temperature.now is not None
        assert [(p.gpu, p.pid) for p in reading.processes] == [(first.uuid, 4242)]


class TestProcesses:
    def test_a_pid_in_both_lists_is_one_process_with_the_larger_figure(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB", lists=layout.COMPUTE)
        ledger.add_process(4242, 0, "120 MiB", lists=layout.GRAPHICS)
        (process,) = probe.read().processes
        assert (process.bytes, process.type) == (3 * GIB, "C+G")

    def test_clients_of_an_mps_server(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB", lists=layout.MPS)
        assert [(p.pid, p.type) for p in probe.read().processes] == [(4242, "C")]

    def test_this_process(self, ledger, probe):
        ledger.charge(os.getpid(), 0, GIB)
        try:
            (process,) = probe.read().processes
            assert (process.pid, process.bytes) == (os.getpid(), GIB)
        finally:
            ledger.release_all(os.getpid())
        assert probe.read().processes == ()

    def test_windows_gives_no_sizes(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.set_device(0, wddm=1)
        reading = probe.read()
        assert [p.bytes for p in reading.processes] == [None]
        assert reading.views.sizes == "none" and reading.views.reason
        assert reading.gpus[0].memory.used == 3 * GIB

    def test_sizes_of_some(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.add_process(4243, 0, "1 GiB", no_size=True)
        assert probe.read().views.sizes == "some"

    def test_a_container_that_sees_no_process(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.set_device(0, hide_processes=1)
        reading = probe.read()
        assert reading.processes == ()
        assert reading.views.processes == "none" and reading.views.reason
        assert reading.doubt is None, "nvidia-smi would see no more"

    def test_a_process_that_is_missing_from_the_list(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.add_process(4243, 0, "6 GiB", hidden=True)
        reading = probe.read()
        assert [p.pid for p in reading.processes] == [4242]
        assert reading.gpus[0].memory.used == 9 * GIB

    @pytest.mark.parametrize("pid", [0, 4294967295, 3 * GIB])
    def test_pids_that_cannot_be(self, own_driver, probe, pid):
        own_driver.load({**boards.ONE, "processes": [{"pid": pid, "device": 0, "bytes": 4242}]})
        reading = probe.read()
        assert reading.processes == ()
        assert str(pid) in reading.doubt
        assert reading.views == wire.Views(processes="none", sizes="none", reason=reading.doubt)
        assert reading.gpus[0].memory.total == 24564 * MIB

    def test_more_than_the_gpu_has(self, ledger, probe):
        ledger.add_process(4242, 0, "25 GiB")
        assert "more than the whole GPU" in probe.read().doubt

    def test_one_gpus_bad_list_does_not_cost_the_others(self, own_driver, ledger, probe):
        own_driver.load(THREE)
        ledger.add_process(4242, 1, "3 GiB")
        ledger.add_process(4242, 0, "99 GiB")
        reading = probe.read()
        assert [(p.pid, p.bytes) for p in reading.processes] == [(4242, 3 * GIB)]
        assert "GPU 0" in reading.doubt and reading.views.reason == reading.doubt

    @pytest.mark.parametrize(
        ("code", "doubted"),
        [
            ("FUNCTION_NOT_FOUND", True),
            ("UNKNOWN", True),
            ("NOT_SUPPORTED", False),
            ("NO_PERMISSION", False),
        ],
    )
    def test_a_list_that_is_refused_is_not_an_idle_gpu(self, ledger, probe, code, doubted):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.inject("nvmlDeviceGetComputeRunningProcesses*", code=code)
        reading = probe.read()
        assert reading.processes == ()
        assert bool(reading.doubt) is doubted
        assert reading.views.processes == "none" and "GPU 0" in reading.views.reason
        assert reading.gpus[0].health == "ok"

    def test_a_driver_without_the_other_lists(self, ledger, probe):
        ledger.add_process(4242, 0, "3 GiB")
        ledger.inject("nvmlDeviceGetGraphics*", code="NOT_SUPPORTED")
        ledger.inject("nvmlDeviceGetMPS*", code="FUNCTION_NOT_FOUND")
        probe.read()
        ledger.reset_calls()
        reading = probe.read()
        assert [p.pid for p in reading.processes] == [4242]
        assert reading.doubt is None and reading.gpus[0].unknown == {}
        assert not [name for name in ledger.calls() if "Graphics" in name or "MPS" in name]

    def test_in_a_pid_namespace(self, ledger, probe, monkeypatch):
        monkeypatch.setattr(processes.host, "in_pid_namespace", lambda: True)
        ledger.add_process(4242, 0, "3 GiB")
        ledger.set_driver(pid_offset=100_000)
        reading = probe.read()
        assert [p.pid for p in reading.processes] == [104_242]
        assert reading.views.processes == "namespace"


class TestHealth:
    @pytest.mark.parametrize(
        ("code", "health"), [("GPU_IS_LOST", "lost"), ("RESET_REQUIRED", "needs-reset")]
    )
    def test_a_gpu_that_breaks_keeps_its_name_and_the_others_go_on(
        self, own_driver, ledger, probe, code, health
    ):
        own_driver.load(THREE)
        ledger.add_process(4242, 2, "3 GiB")
        before = probe.read()
        ledger.inject("nvmlDeviceGet*", device=1, code=code)
        for _ in range(4):
            reading = probe.read()
            assert (reading.state, reading.doubt) == ("ok", None)
            assert [gpu.health for gpu in reading.gpus] == ["ok", health, "ok"]
            assert [gpu.uuid for gpu in reading.gpus] == [gpu.uuid for gpu in before.gpus]
            lost = reading.gpus[1]
            assert (lost.name, lost.index) == ("NVIDIA H100 80GB HBM3", 1)
            assert lost.memory.used is None and lost.unknown["health"]
            assert [p.pid for p in reading.processes] == [4242]
        ledger.clear_injected()
        assert [gpu.health for gpu in probe.read().gpus] == ["ok"] * 3

    def test_it_stays_named_when_it_is_looked_for_again_and_comes_back(
        self, new_probe, own_driver, ledger
    ):
        own_driver.load(THREE)
        probe = new_probe(refresh=0)
        uuid = probe.read().gpus[1].uuid
        ledger.inject("nvmlDeviceGet*", device=1, code="GPU_IS_LOST")
        for _ in range(3):
            lost = probe.read().gpus[1]
            assert (lost.uuid, lost.health, lost.index) == (uuid, "lost", 1)
        ledger.clear_injected()
        probe.read()
        assert [gpu.health for gpu in probe.read().gpus] == ["ok"] * 3

    def test_one_that_was_lost_before_the_first_look(self, own_driver, ledger, probe):
        own_driver.load(THREE)
        ledger.inject("nvmlDeviceGetHandleByIndex_v2", device=1, code="UNKNOWN")
        good, lost, other = probe.read().gpus
        assert (good.health, lost.health, other.health) == ("ok", "lost", "ok")
        assert (lost.uuid, lost.name, lost.index) == ("unknown-1", "GPU 1", 1)
        assert lost.unknown["health"] == "Unknown Error"

    def test_one_that_the_driver_no_longer_counts(self, new_probe, own_driver, ledger):
        own_driver.load(THREE)
        probe = new_probe(refresh=0)
        uuids = [gpu.uuid for gpu in probe.read().gpus]
        ledger.inject("nvmlDeviceGet*", device=2, code="GPU_IS_LOST")
        assert probe.read().gpus[2].health == "lost"
        own_driver.load({"devices": [boards.RTX4090, boards.H100]})
        for _ in range(3):
            reading = probe.read()
            assert [gpu.uuid for gpu in reading.gpus] == uuids
            assert [gpu.health for gpu in reading.gpus] == ["ok", "ok", "lost"]

    def test_one_that_this_user_may_not_read(self, own_driver, ledger, probe):
        own_driver.load(THREE)
        ledger.inject("nvmlDeviceGetHandleByIndex_v2", device=0, code="NO_PERMISSION")
        reading = probe.read()
        closed, *rest = reading.gpus
        assert reading.state == "ok"
        assert closed.health == "ok" and closed.memory.used is None
        assert closed.unknown["memory.used"] == "Insufficient Permissions"
        assert all(gpu.memory.used == 0 for gpu in rest)


class TestStates:
    @pytest.mark.parametrize(
        ("code", "state", "problem"),
        [
            ("LIBRARY_NOT_FOUND", "no-library", "no-library"),
            ("DRIVER_NOT_LOADED", "no-driver", "no-driver"),
            ("LIB_RM_VERSION_MISMATCH", "version-mismatch", "version-mismatch"),
            ("NO_PERMISSION", "no-permission", "no-permission"),
            ("TIMEOUT", "timeout", "timeout"),
            ("UNKNOWN", "no-driver", "driver-error"),
            ("OPERATING_SYSTEM", "no-driver", "driver-error"),
        ],
    )
    def test_each_failure_has_a_state_with_words_and_passes(
        self, ledger, probe, code, state, problem
    ):
        ledger.inject("nvmlInit*", code=code)
        reading = probe.read()
        assert (reading.state, reading.problem.code, reading.source) == (state, problem, "nvml")
        assert reading.problem.text.endswith(".") and reading.problem.hint.endswith(".")
        assert (reading.gpus, reading.processes) == ((), ())
        ledger.clear_injected()
        assert again(probe, "ok").problem is None

    @pytest.mark.parametrize("function", ["nvmlDeviceGetCount_v2", "nvmlDeviceGet*"])
    def test_no_permission_for_anything(self, ledger, probe, function):
        ledger.inject(function, code="NO_PERMISSION")
        assert probe.read().state == "no-permission"

    def test_no_device(self, own_driver, probe):
        own_driver.load("no-devices")
        reading = probe.read()
        assert reading.state == "no-devices"
        assert any("libnvidia-ml.so" in line for line in reading.problem.tried)
        own_driver.load(boards.ONE)
        again(probe, "ok")

    @pytest.mark.parametrize(
        "code", ["UNKNOWN", "DRIVER_NOT_LOADED", "NO_PERMISSION", "LIBRARY_NOT_FOUND"]
    )
    def test_what_worked_and_now_fails(self, ledger, probe, code):
        assert probe.read().state == "ok"
        ledger.inject("nvml*", code=code)
        reading = probe.read()
        assert reading.state == "lost-access"
        assert "could be read before" in reading.problem.text
        assert probe.read().state == "lost-access"
        ledger.clear_injected()
        again(probe, "ok")

    def test_a_driver_that_is_updated_while_we_read(self, ledger, probe):
        assert probe.read().state == "ok"
        ledger.inject("nvml*", code="LIB_RM_VERSION_MISMATCH")
        assert probe.read().state == "version-mismatch"

    def test_all_gpus_gone(self, new_probe, own_driver, ledger):
        probe = new_probe(refresh=0, retry=0.05)
        assert probe.read().state == "ok"
        own_driver.load("no-devices")
        assert probe.read().state == "lost-access"

    def test_failures_are_tried_again_ever_more_seldom(self, new_probe, ledger):
        probe = new_probe(retry=0.2)
        ledger.inject("nvmlInit*", code="DRIVER_NOT_LOADED")
        ledger.reset_calls()
        end = time.monotonic() + 1.5
        readings = 0
        while time.monotonic() < end:
            assert probe.read().state == "no-driver"
            readings += 1
            time.sleep(0.005)
        # At 0, 0.2, 0.6 and 1.4 s.
        assert ledger.calls()["nvmlInit_v2"] <= 4
        assert readings > 50

    def test_closing_lets_go_and_reading_takes_hold_again(self, ledger, probe):
        probe.read()
        probe.close()
        with pytest.raises(pynvml.NVMLError_Uninitialized):
            pynvml.nvmlDeviceGetCount()
        probe.close()
        assert probe.read().state == "ok"

    def test_a_call_that_hangs_for_ten_seconds(self, fake_driver):
        """In a process of its own, which must end while the call still hangs."""
        import subprocess
        import sys

        fake_driver.ledger.inject("nvmlDeviceGetMemoryInfo_v2", slow_ms=10_000)
        code = """
import time
from concurrent.futures import TimeoutError
from jupyterlab_vram.probe import DriverThread, make_probe
driver = DriverThread(lambda: make_probe("nvml"))
future = driver.request()
try:
    future.result(0.5)
except TimeoutError:
    print("waited")
print(driver.request() is future, driver.calls)
began = time.monotonic()
driver.close()
print(time.monotonic() - began < 0.1)
"""
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=fake_driver.environment(),
            capture_output=True,
            text=True,
            timeout=9,
        )
        assert done.stdout.split() == ["waited", "True", "1", "True"], done.stderr
        assert (done.returncode, done.stderr) == (0, "")
        assert time.monotonic() - began < 9


class TestCost:
    def test_calls_of_one_reading(self, own_driver, ledger, probe):
        own_driver.load({"devices": [boards.H100] * 8})
        for pid in range(30):
            ledger.add_process(10_000 + pid, pid % 8, "1 GiB")
        probe.read()
        ledger.reset_calls()
        reading = probe.read()
        assert len(reading.processes) == 30
        calls = ledger.calls()
        # A list is asked for twice: how long it is, then for itself.
        assert calls.pop("nvmlDeviceGetComputeRunningProcesses_v3") == 16
        assert calls.pop("nvmlDeviceGetClockInfo") == 16
        assert calls.pop("nvmlDeviceGetPcieThroughput") == 2
        assert set(calls.values()) == {8}, "each other call once a GPU"
        assert len(calls) == 9
        assert not [name for name in calls if name.endswith(("Name", "UUID", "PciInfo_v3"))]

    def test_thread_and_probe_through_the_front_door(self, own_driver):
        driver = DriverThread(lambda: make_probe("auto"))
        reading = driver.request().result(10)
        assert (reading.state, reading.source, driver.source) == ("ok", "nvml", "nvml")
        driver.close()
