"""nvidia-smi's program over the simulated driver, and NVML's place taken by it."""

import os

import pytest
from fake_driver import boards
from jupyterlab_vram import wire
from jupyterlab_vram.probe import make_probe
from jupyterlab_vram.probe.auto import AutoProbe
from jupyterlab_vram.probe.nvidia_smi import NvidiaSmiProbe, program
from jupyterlab_vram.probe.nvml import NvmlProbe
from jupyterlab_vram.simulated.files import ENVIRONMENT

pytestmark = pytest.mark.fake_driver
GIB, MIB = 1 << 30, 1 << 20


@pytest.fixture
def driver(own_driver, monkeypatch):
    """NVML in this process and nvidia-smi on PATH, over one ledger."""
    variables = own_driver.driver.environment(own_driver.ledger.path)
    monkeypatch.setenv("PATH", variables["PATH"])
    monkeypatch.setenv(ENVIRONMENT, variables[ENVIRONMENT])
    return own_driver


@pytest.fixture
def auto(driver):
    probe = AutoProbe(NvmlProbe(retry=0.05), NvidiaSmiProbe(retry=0.05))
    yield probe
    probe.close()


def without_nvidia_smi(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(program, "_usual_places", list)


def plain(gpu):
    """What both sources can tell, in whole MiB, without the reasons' words."""
    memory = gpu.memory
    return (
        (gpu.uuid, gpu.index, gpu.name, gpu.pci_bus_id, gpu.health, gpu.throttling, gpu.fan),
        [size and size // MIB for size in (memory.total, memory.used, memory.free)],
        gpu.utilization,
        gpu.temperature,
        gpu.power,
        gpu.clocks,
    )


class TestNvidiaSmi:
    def test_it_reads_what_nvml_reads(self, driver, auto):
        driver.load(boards.LAB)
        by_nvml, by_tool = auto.read(), make_probe("nvidia-smi").read()
        assert (by_nvml.source, by_tool.source) == ("nvml", "nvidia-smi")
        assert len(by_nvml.gpus) == 3
        assert [plain(gpu) for gpu in by_tool.gpus] == [plain(gpu) for gpu in by_nvml.gpus]
        assert by_tool.driver == by_nvml.driver
        rows = [
            [(p.gpu, p.pid, p.bytes) for p in reading.processes] for reading in (by_nvml, by_tool)
        ]
        assert rows[0] == rows[1] != []
        assert by_tool.views == by_nvml.views

    def test_its_slices(self, driver):
        driver.load(boards.SLICED)
        card, first, _second = make_probe("nvidia-smi").read().gpus
        assert (card.parent, first.parent) == (None, card.uuid)
        assert first.memory.total == 40448 * MIB

    @pytest.mark.parametrize(
        ("code", "state"),
        [
            ("DRIVER_NOT_LOADED", "no-driver"),
            ("LIB_RM_VERSION_MISMATCH", "version-mismatch"),
            ("NO_PERMISSION", "no-permission"),
            ("LIBRARY_NOT_FOUND", "no-library"),
            ("UNKNOWN", "no-driver"),
        ],
    )
    def test_its_failures(self, driver, code, state):
        driver.ledger.inject("nvmlInit*", code=code)
        reading = make_probe("nvidia-smi").read()
        assert (reading.state, reading.gpus) == (state, ())

    def test_no_device(self, driver):
        driver.load("no-devices")
        assert make_probe("nvidia-smi").read().state == "no-devices"

    def test_a_lost_gpu_is_named(self, driver):
        driver.load({"devices": [boards.RTX4090, boards.H100]})
        driver.ledger.inject("nvmlDeviceGetHandleByIndex_v2", device=1, code="GPU_IS_LOST")
        reading = make_probe("nvidia-smi").read()
        words = f"{reading.problem} {reading.gpus}"
        assert "02:00.0" in words

    def test_one_that_takes_too_long(self, driver):
        driver.ledger.inject("nvmlInit*", slow_ms=10_000)
        assert NvidiaSmiProbe(limit=0.5).read().state == "timeout"


class TestAuto:
    def test_nvml_first(self, driver, auto):
        assert auto.read().source == auto.source == "nvml"

    def test_nvidia_smi_where_there_is_no_library(self, driver, auto):
        driver.ledger.add_process(os.getpid(), 0, "3 GiB")
        driver.ledger.inject("nvmlInit*", code="LIBRARY_NOT_FOUND", count=1)
        reading = auto.read()
        assert (reading.state, reading.source, auto.source) == ("ok", "nvidia-smi", "nvidia-smi")
        assert [p.bytes for p in reading.processes] == [3 * GIB]

    def test_neither(self, driver, auto, monkeypatch):
        without_nvidia_smi(monkeypatch)
        driver.ledger.inject("nvmlInit*", code="LIBRARY_NOT_FOUND")
        for _ in range(3):
            reading = auto.read()
            assert (reading.state, reading.source) == ("no-library", "nvml")
            assert "The NVIDIA driver's library was not found." in reading.problem.tried
            assert "The program nvidia-smi was not found." in reading.problem.tried
            assert len(set(reading.problem.tried)) == len(reading.problem.tried)

    @pytest.mark.parametrize("code", ["DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH"])
    def test_what_nvidia_smi_could_not_read_either_is_not_asked_of_it(
        self, driver, auto, code, monkeypatch
    ):
        monkeypatch.setattr(NvidiaSmiProbe, "read", lambda self: pytest.fail("was asked"))
        driver.ledger.inject("nvmlInit*", code=code)
        assert auto.read().source == "nvml"

    def test_never_the_simulated_gpu(self, driver, auto, monkeypatch):
        """Although its ledger is there."""
        without_nvidia_smi(monkeypatch)
        driver.ledger.inject("nvmlInit*", code="LIBRARY_NOT_FOUND")
        assert auto.read().source != "simulated"

    def test_processes_of_nvidia_smi_where_nvmls_cannot_be_listed(self, driver, auto):
        driver.load(boards.LAB)
        driver.ledger.inject("nvmlDeviceGetComputeRunningProcesses*", code="FUNCTION_NOT_FOUND")
        reading = auto.read()
        assert (reading.state, reading.source) == ("ok", "nvml")
        assert {p.pid for p in reading.processes} == {1, 999_999}
        assert "nvidia-smi instead" in reading.views.reason
        assert reading.views.processes != "none"
        assert reading.gpus[0].pcie.rx is not None or reading.gpus[1].pcie.rx is not None

    def test_a_list_that_cannot_be_true_in_both(self, driver, auto):
        driver.load({**boards.ONE, "processes": [{"pid": 3 * GIB, "device": 0, "bytes": 42}]})
        reading = auto.read()
        assert (reading.state, reading.processes) == ("ok", ())
        assert reading.views.processes == "none"
        assert "can't be right" in reading.views.reason
        assert "instead" not in reading.views.reason

    def test_a_distrusted_list_without_nvidia_smi(self, driver, auto, monkeypatch):
        without_nvidia_smi(monkeypatch)
        driver.ledger.inject("nvmlDeviceGetComputeRunningProcesses*", code="FUNCTION_NOT_FOUND")
        reading = auto.read()
        assert (reading.state, reading.processes) == ("ok", ())
        assert reading.views == wire.Views(processes="none", sizes="none", reason=reading.doubt)
