"""The simulated driver, as the programs that people read a real one with see it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

import pynvml
import pytest
from fake_driver import boards, control
from fake_driver.build import build
from jupyterlab_vram.simulated import layout
from jupyterlab_vram.simulated.ledger import Ledger, OutOfMemory

pytestmark = pytest.mark.fake_driver
GIB, MIB = 1 << 30, 1 << 20


def run(fake_driver, *command, **options):
    environment = {**fake_driver.environment(), "TERM": "xterm", "COLUMNS": "120"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, **options
    )


def first():
    return pynvml.nvmlDeviceGetHandleByIndex(0)


@pytest.fixture
def nvml(own_driver):
    pynvml.nvmlInit()
    yield own_driver
    pynvml.nvmlShutdown()


class TestNvml:
    """nvidia-ml-py, in this process."""

    def test_reads_a_card(self, nvml):
        handle = first()
        assert pynvml.nvmlDeviceGetCount() == 1
        assert pynvml.nvmlDeviceGetName(handle) == "NVIDIA GeForce RTX 4090"
        assert pynvml.nvmlDeviceGetTemperature(handle, 0) == 38
        assert pynvml.nvmlDeviceGetTemperatureThreshold(handle, 1) == 90
        assert pynvml.nvmlDeviceGetPowerUsage(handle) == 22_000
        assert pynvml.nvmlDeviceGetPciInfo(handle).busId == "00000000:01:00.0"
        assert pynvml.nvmlSystemGetDriverVersion() == "580.95.05"
        again = pynvml.nvmlDeviceGetHandleByUUID(pynvml.nvmlDeviceGetUUID(handle))
        assert pynvml.nvmlDeviceGetIndex(again) == 0

    def test_counts_the_reserve_as_used_in_version_1_only(self, nvml):
        nvml.ledger.add_process(1, 0, "3 GiB")
        second = pynvml.nvmlDeviceGetMemoryInfo(first(), version=pynvml.nvmlMemory_v2)
        assert (second.total, second.reserved) == (24564 * MIB, 348 * MIB)
        assert second.used == 3 * GIB
        assert second.free == second.total - second.reserved - second.used
        assert pynvml.nvmlDeviceGetMemoryInfo(first()).used == 3 * GIB + 348 * MIB

    def test_lists_processes(self, nvml):
        nvml.ledger.add_process(1, 0, "3 GiB", lists=layout.COMPUTE | layout.GRAPHICS)
        nvml.ledger.add_process(2, 0, "1 GiB", no_size=True)
        nvml.ledger.add_process(3, 0, "1 GiB", hidden=True)
        compute = pynvml.nvmlDeviceGetComputeRunningProcesses(first())
        assert [(p.pid, p.usedGpuMemory) for p in compute] == [(1, 3 * GIB), (2, None)]
        assert [p.pid for p in pynvml.nvmlDeviceGetGraphicsRunningProcesses(first())] == [1]
        memory = pynvml.nvmlDeviceGetMemoryInfo(first(), version=pynvml.nvmlMemory_v2)
        assert memory.used == 5 * GIB

    def test_shows_what_containers_and_windows_show(self, nvml):
        nvml.ledger.add_process(1, 0, "3 GiB")
        nvml.ledger.set_driver(pid_offset=100_000)
        nvml.ledger.set_device(0, wddm=1)
        (process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(first())
        assert (process.pid, process.usedGpuMemory) == (100_001, None)
        nvml.ledger.set_device(0, hide_processes=1)
        assert pynvml.nvmlDeviceGetComputeRunningProcesses(first()) == []

    def test_says_not_supported_for_an_unknown_column(self, nvml):
        nvml.ledger.set_device(0, fan=None, no_memory_info=1)
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetFanSpeed(first())
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetMemoryInfo(first())

    def test_slices_a_card(self, nvml):
        nvml.load(boards.SLICED)
        assert pynvml.nvmlDeviceGetCount() == 1
        assert pynvml.nvmlDeviceGetMigMode(first()) == [1, 1]
        part = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(first(), 0)
        assert pynvml.nvmlDeviceGetUUID(part).startswith("MIG-")
        assert pynvml.nvmlDeviceGetGpuInstanceId(part) == 1
        memory = pynvml.nvmlDeviceGetMemoryInfo(part, version=pynvml.nvmlMemory_v2)
        assert (memory.total, memory.used) == (40448 * MIB, 6 * GIB)
        (process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(first())
        assert process.gpuInstanceId == 1
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetUtilizationRates(part)

    def test_counts_nvlinks_traffic(self, nvml):
        nvml.ledger.set_device(0, nvlinks=2, nvlink_tx=50_000)
        field = pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX

        def sent():
            (value,) = pynvml.nvmlDeviceGetFieldValues(first(), [field])
            assert value.nvmlReturn == 0
            return value.timestamp / 1e6, value.value.ullVal

        start, before = sent()
        time.sleep(0.2)
        end, after = sent()
        assert (after - before) / (end - start) == pytest.approx(50_000, rel=0.02)

    def test_fails_as_injected(self, nvml):
        nvml.ledger.inject("nvmlDeviceGet*", code="GPU_IS_LOST", device=0, count=1)
        handle = None
        with pytest.raises(pynvml.NVMLError_GpuIsLost):
            handle = first()
        handle = handle or first()
        assert pynvml.nvmlDeviceGetTemperature(handle, 0) == 38

    def test_is_as_slow_as_injected(self, nvml):
        nvml.ledger.inject("nvmlDeviceGetPowerUsage", slow_ms=300)
        started = time.monotonic()
        pynvml.nvmlDeviceGetPowerUsage(first())
        assert time.monotonic() - started >= 0.3

    def test_counts_calls_by_function(self, nvml):
        handle = first()
        nvml.ledger.reset_calls()
        for _ in range(3):
            pynvml.nvmlDeviceGetTemperature(handle, 0)
        pynvml.nvmlDeviceGetUUID(handle)
        assert nvml.ledger.calls() == {"nvmlDeviceGetTemperature": 3, "nvmlDeviceGetUUID": 1}

    def test_gives_a_name_that_is_no_text(self, nvml):
        nvml.ledger.set_device(0, name=b"\xf8\xff")
        with pytest.raises(UnicodeDecodeError):
            pynvml.nvmlDeviceGetName(first())


READ = """
import pynvml
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
print([p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)],
      pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2).used)
"""

ALLOCATE = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, start = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
code = cuda.cuMemAlloc_v2(ctypes.byref(start), ctypes.c_size_t(int(sys.argv[1])))
print(code, flush=True)
sys.stdin.readline()
assert cuda.cuMemFree_v2(start) == 0
print("freed", flush=True)
sys.stdin.readline()
"""


def holder(fake_driver, size):
    return subprocess.Popen(
        [sys.executable, "-c", ALLOCATE, str(size)],
        env=fake_driver.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class TestProcesses:
    """Processes that hold memory by the CUDA driver's own functions."""

    def test_hold_free_and_end(self, fake_driver):
        with holder(fake_driver, 2 * GIB) as process:
            assert process.stdout.readline() == "0\n"
            used = 2 * GIB + 300 * MIB
            assert (
                run(fake_driver, sys.executable, "-c", READ).stdout == f"[{process.pid}] {used}\n"
            )
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "freed\n"
            left = run(fake_driver, sys.executable, "-c", READ).stdout
            assert left == f"[{process.pid}] {300 * MIB}\n"  # the context stays
            process.kill()
        assert run(fake_driver, sys.executable, "-c", READ).stdout == "[] 0\n"

    def test_run_out_together(self, fake_driver):
        with holder(fake_driver, 20 * GIB) as one, holder(fake_driver, 1 * GIB) as other:
            assert (one.stdout.readline(), other.stdout.readline()) == ("0\n", "0\n")
            with holder(fake_driver, 4 * GIB) as third:
                assert third.stdout.readline() == "2\n"  # CUDA_ERROR_OUT_OF_MEMORY
                third.kill()
            one.kill()
            one.wait()
            with holder(fake_driver, 4 * GIB) as fourth:
                assert fourth.stdout.readline() == "0\n"
                fourth.kill()
            other.kill()

    def test_share_the_books_with_python(self, fake_driver):
        ledger = fake_driver.ledger
        ledger.charge(os.getpid(), 0, 1 * GIB)
        used = run(fake_driver, sys.executable, "-c", READ).stdout
        assert used == f"[{os.getpid()}] {1 * GIB}\n"
        with holder(fake_driver, 2 * GIB) as process:
            assert process.stdout.readline() == "0\n"
            assert ledger.held(process.pid, 0) == 2 * GIB + 300 * MIB
            process.kill()

    def test_never_hold_more_than_there_is(self, fake_driver):
        """Three processes, one of them in Python, fight for the last 2 MiB."""
        ledger, block, me = fake_driver.ledger, 2 * MIB, os.getpid()
        most = 2 * ledger.state().driver.context_bytes + block
        ledger.set_device(0, total=348 * MIB + most)
        code = f"""
            import ctypes, pynvml
            cuda = ctypes.CDLL("libcuda.so.1")
            context, start = ctypes.c_void_p(), ctypes.c_uint64()
            assert cuda.cuInit(0) == cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
            pynvml.nvmlInit()
            card = pynvml.nvmlDeviceGetHandleByIndex(0)
            got = 0
            for _ in range(20000):
                if cuda.cuMemAlloc_v2(ctypes.byref(start), ctypes.c_size_t({block})) == 0:
                    got += 1
                    used = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2).used
                    assert used <= {most}, used
                    assert cuda.cuMemFree_v2(start) == 0
            print(got)
        """
        command = [sys.executable, "-c", textwrap.dedent(code)]
        with ThreadPoolExecutor() as pool:
            runs = [pool.submit(run, fake_driver, *command) for _ in range(2)]
            while not all(job.done() for job in runs):
                # The contexts first: without them the block is not the last one.
                if len(ledger.state().processes) == 2:
                    with contextlib.suppress(OutOfMemory):
                        ledger.charge(me, 0, block)
                        assert ledger.memory(0).used <= most
                        ledger.release(me, 0, block)
        assert [job.result().stderr for job in runs] == ["", ""]
        assert all(int(job.result().stdout) > 0 for job in runs)
        assert ledger.memory(0).used == 0

    def test_that_are_dead_may_stay(self, fake_driver):
        fake_driver.ledger.set_driver(keep_dead=1)
        with holder(fake_driver, 2 * GIB) as process:
            assert process.stdout.readline() == "0\n"
            process.kill()
        shown = run(fake_driver, sys.executable, "-c", READ).stdout
        assert shown == f"[{process.pid}] {2 * GIB + 300 * MIB}\n"

    def test_that_are_dead_release_late(self, fake_driver):
        fake_driver.ledger.set_driver(release_ms=700)
        with holder(fake_driver, 2 * GIB) as process:
            assert process.stdout.readline() == "0\n"
            process.kill()
        died = time.monotonic()
        used = 2 * GIB + 300 * MIB
        assert run(fake_driver, sys.executable, "-c", READ).stdout == f"[{process.pid}] {used}\n"
        while fake_driver.ledger.memory(0).used:
            time.sleep(0.02)
        assert time.monotonic() - died > 0.6
        assert run(fake_driver, sys.executable, "-c", READ).stdout == "[] 0\n"

    def test_copy_and_fill_what_they_hold_and_nothing_else(self, fake_driver):
        code = """
            import ctypes
            cuda = ctypes.CDLL("libcuda.so.1")
            context, start, size = ctypes.c_void_p(), ctypes.c_uint64(), 20 << 20
            assert cuda.cuInit(0) == cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
            assert cuda.cuMemAlloc_v2(ctypes.byref(start), ctypes.c_size_t(size)) == 0
            here, back = bytes(range(256)) * (size // 256), ctypes.create_string_buffer(size)

            def pointer(at): return ctypes.c_uint64(start.value + at)
            def put(at, n): return cuda.cuMemcpyHtoD_v2(pointer(at), here, ctypes.c_size_t(n))
            def get(at, n): return cuda.cuMemcpyDtoH_v2(back, pointer(at), ctypes.c_size_t(n))
            def fill(at, v, n): return cuda.cuMemsetD8_v2(pointer(at), v, ctypes.c_size_t(n))

            assert put(0, size) == get(0, size) == 0 and back.raw == here
            assert fill(100, 0, 5 << 20) == fill(6 << 20, 7, 9) == get(0, size) == 0
            filled = here[:100] + bytes(5 << 20) + here[100 + (5 << 20) : 6 << 20] + b"\\7" * 9
            assert back.raw == filled + here[len(filled) :]
            print(put(1, size), get(1, size), fill(1, 0, size), fill(-1, 0, 1))
            assert cuda.cuMemFree_v2(start) == 0
            print(put(0, 1), get(0, 1), fill(0, 0, 1))
        """
        done = run(fake_driver, sys.executable, "-c", textwrap.dedent(code))
        assert done.stdout == "1 1 1 1\n1 1 1\n", done.stderr  # CUDA_ERROR_INVALID_VALUE


class TestTools:
    def test_nvitop(self, fake_driver):
        fake_driver.load(boards.LAB)
        shown = run(fake_driver, sys.executable, "-m", "nvitop", "-1", "--no-unicode")
        assert "Tesla T4" in shown.stdout, shown.stderr
        assert "3404MiB" in shown.stdout.replace(" ", "") or "3.32GiB" in shown.stdout

    def test_gpustat(self, fake_driver):
        fake_driver.load(boards.LAB)
        shown = run(fake_driver, sys.executable, "-m", "gpustat", "--no-color", "--no-header")
        lines = shown.stdout.splitlines()
        assert len(lines) == 3, shown.stderr
        assert "3404 / 24564 MB" in lines[0]
        assert "97 %" in lines[0]

    def test_nvidia_smi_csv(self, fake_driver):
        fake_driver.load(boards.LAB)
        fields = "--query-gpu=index,name,memory.used,memory.total,fan.speed,temperature.gpu"
        shown = run(fake_driver, "nvidia-smi", fields, "--format=csv,noheader,nounits")
        assert shown.stdout.splitlines() == [
            "0, NVIDIA GeForce RTX 4090, 3404, 24564, 0, 79",
            "1, NVIDIA H100 80GB HBM3, 5120, 81559, [N/A], 33",
            "2, Tesla T4, 0, 15360, [N/A], 45",
        ]
        apps = "--query-compute-apps=gpu_uuid,pid,used_memory"
        shown = run(fake_driver, "nvidia-smi", apps, "--format=csv,noheader")
        assert [line.split(", ")[1:] for line in shown.stdout.splitlines()] == [
            ["1", "3072 MiB"],
            ["999999", "5120 MiB"],
            ["1", "[N/A]"],
        ]

    def test_nvidia_smi_xml(self, fake_driver):
        fake_driver.load(boards.LAB)
        root = ET.fromstring(run(fake_driver, "nvidia-smi", "-q", "-x").stdout)
        first, _, third = root.findall("gpu")
        assert first.findtext("fb_memory_usage/used") == "3404 MiB"
        assert first.findtext("clocks_event_reasons/clocks_event_reason_sw_power_cap") == "Active"
        assert third.findtext("processes/process_info/used_memory") == "N/A"
        assert third.findtext("processes/process_info/type") == "C+G"

    def test_nvidia_smi_list(self, fake_driver):
        fake_driver.load(boards.SLICED)
        shown = run(fake_driver, "nvidia-smi", "-L").stdout.splitlines()
        assert shown[0].startswith("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-")
        assert [line.split()[1] for line in shown[1:]] == ["3g.40gb", "1g.10gb"]

    @pytest.mark.parametrize(
        ("code", "status", "text"),
        [
            ("DRIVER_NOT_LOADED", 9, "couldn't communicate with the NVIDIA driver"),
            ("LIB_RM_VERSION_MISMATCH", 18, "Driver/library version mismatch"),
            ("UNKNOWN", 255, "Failed to initialize NVML: Unknown Error"),
        ],
    )
    def test_nvidia_smi_fails(self, fake_driver, code, status, text):
        fake_driver.ledger.inject("nvmlInit*", code=code)
        shown = run(fake_driver, "nvidia-smi", "-L")
        assert (shown.returncode, shown.stderr) == (status, "")
        assert text in shown.stdout

    def test_nvidia_smi_names_a_lost_card(self, fake_driver):
        fake_driver.load(boards.LAB)
        fake_driver.ledger.inject("nvmlDeviceGetHandle*", code="GPU_IS_LOST", device=1)
        shown = run(fake_driver, "nvidia-smi", "-q", "-x")
        assert shown.returncode == 15
        assert "GPU1: 0000:02:00.0: GPU is lost." in shown.stdout

    def test_nvidia_smi_without_a_device(self, fake_driver):
        fake_driver.load("no-devices")
        shown = run(fake_driver, "nvidia-smi", "-L")
        assert (shown.returncode, shown.stdout) == (6, "No devices were found\n")

    def test_control(self, fake_driver, monkeypatch, capsys):
        monkeypatch.setenv("VRAM_SIMULATED_LEDGER", str(fake_driver.ledger.path))
        control.main(["create", "eight"])
        control.main(["device", "3", "temperature=91", "fan=null", 'name="A, card"'])
        control.main(["process", "4242", "3", "2 GiB", "name=job"])
        control.main(["inject", "nvmlDeviceGetName", "slow_ms=10", "count=3"])
        state = fake_driver.ledger.state()
        assert len(state.devices) == 8
        assert (state.devices[3].temperature, state.devices[3].name) == (91, "A, card")
        assert state.memory[3].used == 2 * GIB
        assert (state.errors[0].slow_ms, state.errors[0].count) == (10, 3)
        control.main(["show"])
        assert '"bytes": 2147483648' in capsys.readouterr().out


def test_is_built_once_and_whole(built_driver):
    assert build().folder == built_driver.folder
    assert built_driver.nvml.exists()
    for path in built_driver.preloads():
        assert path.exists()


def test_builds_without_warnings(built_driver, tmp_path):
    header = tmp_path / "ledger_layout.h"
    header.write_text(layout.header())
    sources = sorted((built_driver.folder.parents[1] / "src").glob("*.c"))
    assert sources
    command = ["gcc", "-std=gnu17", "-Wall", "-Wextra", "-fsyntax-only", f"-I{tmp_path}"]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True)
    assert done.stderr == ""


def test_a_machine_without_gcc_is_told(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Exception, match="apt install gcc"):
        build()


def test_a_ledger_of_another_kind_is_refused(fake_driver, tmp_path):
    other = tmp_path / "other.ledger"
    other.write_bytes(b"x" * layout.SIZE)
    fake = {**fake_driver.environment(), "VRAM_SIMULATED_LEDGER": str(other)}
    code = "import pynvml\ntry: pynvml.nvmlInit()\nexcept pynvml.NVMLError as e: print(e.value)"
    done = subprocess.run([sys.executable, "-c", code], env=fake, capture_output=True, text=True)
    assert done.stdout == f"{pynvml.NVML_ERROR_DRIVER_NOT_LOADED}\n"
    with Ledger.create(other) as ledger:
        assert len(ledger.state().devices) == 1
