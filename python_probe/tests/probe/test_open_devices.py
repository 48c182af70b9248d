"""Who has a GPU open, by /proc alone."""

import os
import re
import subprocess
import sys

import pytest
from jupyterlab_vram.probe import gpu_in_use_by, open_devices
from jupyterlab_vram.probe.open_devices import GPU_FILE, opens_gpu

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@pytest.mark.parametrize(
    ("path", "is_gpu"),
    [
        ("/dev/nvidia0", True),
        ("/dev/nvidia15", True),
        ("/dev/nvidia-uvm", True),
        ("/dev/dxg", True),
        ("/dev/nvidiactl", False),
        ("/dev/nvidia-modeset", False),
        ("/dev/null", False),
        ("/home/me/dev/nvidia0", False),
        ("pipe:[123]", False),
    ],
)
def test_which_files_mean_use(path, is_gpu):
    assert bool(GPU_FILE.match(path)) is is_gpu


@pytest.fixture
def device(tmp_path, monkeypatch):
    """A file that stands for a GPU's device file, which this computer need not have."""
    path = tmp_path / "nvidia0"
    path.touch()
    monkeypatch.setattr(open_devices, "GPU_FILE", re.compile(re.escape(str(path)) + "$"))
    return path


@pytest.fixture
def run():
    started = []

    def run(code, *args):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for process in started:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


HOLD = "import sys; f = open(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[2], sys.argv[1]])"


@linux
def test_a_process_that_has_it_open(device, run):
    holder = run(HOLD, str(device))
    assert gpu_in_use_by([holder.pid])
    assert opens_gpu(holder.pid) is True
    assert not gpu_in_use_by([])


@linux
def test_a_process_that_has_not(device, run):
    other = run(HOLD, os.devnull)
    assert not gpu_in_use_by([other.pid])
    assert opens_gpu(other.pid) is False


@linux
def test_a_childs_use_counts_for_its_kernel(device, run):
    parent = run(PARENT, str(device), HOLD)
    assert gpu_in_use_by([parent.pid])
    assert opens_gpu(parent.pid) is False, "it is not the process itself"


def test_a_process_that_is_gone(device, run):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(10)
    assert not gpu_in_use_by([gone.pid, 2**22 - 1])
    assert opens_gpu(gone.pid) is None


def test_on_the_simulated_gpu_the_ledger_tells(ledger, run):
    other = run(HOLD, os.devnull).pid
    assert not gpu_in_use_by([os.getpid()], "simulated")
    ledger.charge(os.getpid(), 0, 1 << 30)
    assert gpu_in_use_by([os.getpid()], "simulated")
    assert not gpu_in_use_by([other], "simulated")
    assert opens_gpu(os.getpid(), "simulated") and not opens_gpu(other, "simulated")
    assert ledger.calls() == {}, "without a driver call"
