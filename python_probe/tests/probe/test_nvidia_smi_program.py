"""Running nvidia-smi: real programs on PATH that behave as it does."""

import os
import stat
import time

import psutil
import pytest
from jupyterlab_vram.probe import make_probe
from jupyterlab_vram.probe.nvidia_smi import NvidiaSmiProbe, program
from jupyterlab_vram.probe.nvidia_smi.program import Program, TimeLimit, find

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")

ANSWER = (
    "<nvidia_smi_log><driver_version>535.1</driver_version><gpu id='0'><uuid>GPU-1</uuid>"
    "<product_name>Board</product_name><fb_memory_usage><total>100 MiB</total>"
    "<used>40 MiB</used><free>60 MiB</free></fb_memory_usage></gpu></nvidia_smi_log>"
)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a program called nvidia-smi on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(program, "_usual_places", list)

    def install(script):
        path = folder / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return install


def read(**kwargs):
    return NvidiaSmiProbe(**kwargs).read()


def test_none_on_path(install, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert find() is None
    reading = make_probe("nvidia-smi").read()
    assert reading.state == "no-library"
    assert "The program nvidia-smi was not found." in reading.problem.tried


def test_an_answer(install):
    path = install(f'[ "$*" = "-q -x" ] && echo "{ANSWER}"')
    assert find() == str(path)
    reading = read()
    assert (reading.state, reading.source) == ("ok", "nvidia-smi")
    assert reading.driver.version == "535.1"
    assert reading.gpus[0].memory.used == 40 << 20


def test_an_answer_with_a_warning_and_an_exit_code(install):
    install(f'echo "WARNING: infoROM is corrupted" ; echo "{ANSWER}"; exit 14')
    assert read().state == "ok"


def test_bytes_that_are_no_text(install):
    rows = (
        "<processes><process_info><pid>7</pid><type>C</type><process_name>\\\\377\\\\376"
        "</process_name><used_memory>1 MiB</used_memory></process_info></processes></gpu>"
    )
    install(f'printf "{ANSWER.replace("</gpu>", rows)}"')
    assert [p.pid for p in read().processes] == [7]


@pytest.mark.parametrize("stream", [1, 2])
def test_words_on_either_stream(install, stream):
    install(f'echo "No devices were found" >&{stream}; exit 6')
    assert read().state == "no-devices"


def test_a_failure_is_not_asked_again_at_once_and_then_recovers(install, tmp_path):
    log = tmp_path / "runs"
    install(f'echo x >> {log}; echo "NVIDIA-SMI has failed because it could not"; exit 9')
    probe = NvidiaSmiProbe(retry=0.3)
    for _ in range(5):
        assert probe.read().state == "no-driver"
    assert log.read_text().split() == ["x"]
    install(f'echo "{ANSWER}"')
    deadline = time.monotonic() + 10
    while probe.read().state != "ok":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    install("exit 255")
    assert probe.read().state == "lost-access"


def test_one_that_hangs_is_killed_with_what_it_started(install, tmp_path):
    pids = tmp_path / "pids"
    install(f"echo $$ >> {pids}; sleep 60 & echo $! >> {pids}; wait")
    began = time.monotonic()
    reading = read(limit=0.3)
    assert time.monotonic() - began < 5
    assert reading.state == "timeout"
    deadline = time.monotonic() + 5
    for pid in map(int, pids.read_text().split()):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie":
            assert time.monotonic() < deadline, f"{pid} is still there"
            time.sleep(0.02)


def test_it_never_runs_twice_at_a_time(install, tmp_path):
    """A child that even a kill does not end (stuck in the driver) blocks the next run."""
    path = str(install("sleep 60"))
    runner = Program(limit=5)
    stuck = psutil.Popen([path])
    runner._hanging = stuck
    try:
        with pytest.raises(TimeLimit):
            runner.run(path)
    finally:
        for child in stuck.children():
            child.kill()
        stuck.kill()
        stuck.wait(5)
    install("echo hello")
    assert runner.run(path).text == "hello\n"


def test_a_program_that_is_none(install):
    install("").write_bytes(b"\x7fELF not really")
    reading = read()
    assert reading.state == "no-driver" and "can't be run" in reading.problem.text


def test_xml_that_breaks_off(install):
    install('echo "<nvidia_smi_log><gpu></nvidia_smi_log>"')
    reading = read()
    assert reading.state == "no-driver" and "no proper XML" in reading.problem.text


def test_no_gpu_in_the_answer(install):
    install('echo "<nvidia_smi_log></nvidia_smi_log>"')
    assert read().state == "no-devices"
