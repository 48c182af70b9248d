"""The ledger: who holds what on the simulated GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jupyterlab_vram.simulated import files, layout
from jupyterlab_vram.simulated.ledger import Ledger, LedgerError, OutOfMemory
from jupyterlab_vram.simulated.processes import start_time
from jupyterlab_vram.simulated.scenarios import SCENARIOS, size

GIB, MIB = 1 << 30, 1 << 20
ME = os.getpid()
HOLD = """
import os, sys
from jupyterlab_vram.simulated.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
ledger.open_context(os.getpid(), 0)
ledger.charge(os.getpid(), 0, 2 << 30)
print("holds", flush=True)
sys.stdin.readline()
"""

FORK = """
import os, sys, time
from jupyterlab_vram.simulated.ledger import Ledger
ledger, GIB = Ledger.open(sys.argv[1]), 1 << 30
ledger.charge(os.getpid(), 0, GIB)
with ledger.locked():
    child = os.fork()
    if not child:
        ledger.charge(os.getpid(), 0, 2 * GIB)
        os._exit(0 if ledger.held(os.getpid(), 0) == 2 * GIB else 1)
    time.sleep(0.3)
    print("waits" if os.waitpid(child, os.WNOHANG) == (0, 0) else "went ahead")
print(os.waitpid(child, 0)[1])
assert ledger.memory(0).used == GIB
"""
OPEN = """
import os, sys
from jupyterlab_vram.simulated.ledger import Ledger
Ledger.open(sys.argv[1]).add_process(os.getpid(), 0, 1)
"""


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "simulated.ledger") as opened:
        yield opened


def run(code, path, python=sys.executable):
    """What a child prints; it has the package, whatever its Python."""
    environment = {**os.environ, "PYTHONPATH": str(Path(layout.__file__).parents[2])}
    command = [python, "-c", code, path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def holder(ledger):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(ledger.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "holds\n"
    return process


class TestBooks:
    def test_charge_and_release_in_steps(self, ledger):
        assert ledger.charge(ME, 0, 3 * MIB) == 4 * MIB
        assert ledger.held(ME, 0) == ledger.memory(0).used == 4 * MIB
        assert ledger.release(ME, 0, 3 * MIB) == 4 * MIB
        assert ledger.memory(0).used == 0

    def test_a_context_is_paid_for_once(self, ledger):
        assert ledger.open_context(ME, 0) == 300 * MIB
        assert ledger.open_context(ME, 0) == 0
        assert ledger.held(ME, 0) == 300 * MIB
        ledger.release_all(ME)
        assert ledger.memory(0).used == 0

    def test_out_of_memory_takes_nothing(self, ledger):
        before = ledger.memory(0)
        with pytest.raises(OutOfMemory) as raised:
            ledger.charge(ME, 0, 30 * GIB)
        figures = (raised.value.requested, raised.value.free, raised.value.total)
        assert figures == (30 * GIB, before.free, before.total)
        assert ledger.memory(0) == before
        assert ledger.state().processes == ()

    def test_the_last_byte_can_be_had(self, ledger):
        ledger.charge(ME, 0, ledger.memory(0).free)
        assert ledger.memory(0).free == 0
        with pytest.raises(OutOfMemory):
            ledger.charge(ME, 0, 1)

    def test_unknown_devices_and_processes_are_refused(self, ledger):
        with pytest.raises(IndexError):
            ledger.charge(ME, 1, MIB)
        with pytest.raises(IndexError):
            ledger.add_process(1, 5, MIB)
        with pytest.raises(LedgerError, match="no process"):
            ledger.charge(2**22 + 1, 0, MIB)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9 * GIB)), max_size=30))
    def test_used_is_what_was_taken(self, tmp_path_factory, requests):
        path = tmp_path_factory.mktemp("books") / "books.ledger"
        scenario = {"devices": [{"card": "24-gib"}, {"card": "24-gib"}]}
        taken = {0: [], 1: []}
        with Ledger.create(path, scenario) as ledger:
            for device, nbytes in requests:
                try:
                    taken[device].append((nbytes, ledger.charge(ME, device, nbytes)))
                except OutOfMemory:
                    assert nbytes > ledger.memory(device).free - layout.GRANULARITY
            for device in (0, 1):
                memory = ledger.memory(device)
                assert memory.used == sum(step for _, step in taken[device])
                assert memory.total == memory.used + memory.free + memory.reserved
                for nbytes, step in taken[device]:
                    assert ledger.release(ME, device, nbytes) == step
                assert ledger.memory(device).used == 0


class TestProcesses:
    def test_the_dead_are_taken_out(self, ledger):
        with holder(ledger) as process:
            assert ledger.held(process.pid, 0) == 2 * GIB + 300 * MIB
            process.kill()
        assert ledger.memory(0).used == 0

    def test_a_zombie_holds_nothing(self, ledger):
        process = holder(ledger)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert start_time(process.pid) is None
        assert ledger.memory(0).used == 0
        process.communicate()

    def test_the_dead_may_be_kept(self, ledger):
        ledger.set_driver(keep_dead=1)
        with holder(ledger) as process:
            process.kill()
        (row,) = ledger.state().processes
        assert (row.pid, row.bytes) == (process.pid, 2 * GIB + 300 * MIB)
        assert row.flags & layout.ZOMBIE

    def test_the_dead_may_release_late(self, ledger):
        ledger.set_driver(release_ms=300)
        with holder(ledger) as process:
            process.kill()
        assert ledger.memory(0).used == 2 * GIB + 300 * MIB
        time.sleep(0.35)
        assert ledger.memory(0).used == 0

    def test_a_pid_that_another_process_has_got_is_not_the_same(self, ledger):
        ledger.charge(ME, 0, GIB)
        with ledger.locked():
            ledger._file.processes[0].started += 1
        assert ledger.held(ME, 0) == 0
        assert ledger.memory(0).used == 0

    def test_without_proc_a_living_process_counts(self, monkeypatch):
        monkeypatch.setattr("jupyterlab_vram.simulated.processes._PROC", False)
        assert start_time(ME) == 0
        assert start_time(1) == 0
        assert start_time(2**22 + 1) is None

    def test_a_forked_child_has_a_lock_and_an_account_of_its_own(self, ledger):
        assert run(FORK, ledger.path) == "waits\n0\n"

    def test_threads_share_a_ledger(self, ledger):
        def churn():
            for _ in range(200):
                ledger.charge(ME, 0, MIB)
                ledger.release(ME, 0, MIB)

        threads = [threading.Thread(target=churn) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.memory(0).used == 0

    def test_invented_ones_stay(self, ledger):
        ledger.add_process(999_999, 0, "5 GiB", name="ghost", no_size=True)
        (row,) = ledger.state().processes
        assert (row.name, row.bytes) == ("ghost", 5 * GIB)
        assert row.flags & layout.NO_SIZE
        ledger.remove_processes(999_999)
        assert ledger.state().processes == ()

    def test_a_full_ledger_says_so(self, ledger):
        for pid in range(layout.PROCESSES):
            ledger.add_process(pid + 1, 0, 0)
        with pytest.raises(LedgerError, match="1024 entries"):
            ledger.add_process(1, 0, 0)


class TestInjection:
    def test_matches_names_devices_and_counts(self, ledger):
        ledger.inject("nvmlDeviceGet*", code="GPU_IS_LOST", device=0, count=2)
        ledger.inject("nvmlInit_v2", code=9)
        assert ledger.call("nvmlInit_v2") == 9
        assert ledger.call("nvmlInit") == 0
        assert ledger.call("nvmlDeviceGetName", 1) == 0
        assert ledger.call("nvmlDeviceGetName") == 0
        assert [ledger.call("nvmlDeviceGetName", 0) for _ in range(3)] == [15, 15, 0]
        ledger.clear_injected()
        assert ledger.call("nvmlInit_v2") == 0
        assert ledger.calls()["nvmlDeviceGetName"] == 5
        ledger.reset_calls()
        assert ledger.calls() == {}

    def test_an_unknown_code_is_refused(self, ledger):
        with pytest.raises(KeyError):
            ledger.inject("nvmlInit", code="NO_SUCH")


class TestFile:
    def test_is_created_at_first_use(self, tmp_path):
        with Ledger.open(tmp_path / "new" / "a.ledger") as ledger:
            (device,) = ledger.state().devices
        assert device.name == "Simulated 24 GiB"
        assert device.total == 24 * GIB
        assert (tmp_path / "new" / "a.ledger").stat().st_mode & 0o777 == 0o600

    def test_is_created_once_by_many(self, tmp_path):
        path = tmp_path / "a.ledger"
        command = [sys.executable, "-c", OPEN, str(path)]
        runs = [subprocess.Popen(command) for _ in range(6)]
        assert [process.wait() for process in runs] == [0] * 6
        with Ledger.open(path) as ledger:
            assert len(ledger.state().processes) == 6
        assert [item.name for item in tmp_path.iterdir()] == ["a.ledger"]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "not a ledger"),
            (b"{}" * 100, "not a ledger"),
            (
                layout.MAGIC.to_bytes(4, sys.byteorder) + b"\x63\0\0\0" + bytes(100),
                "another version",
            ),
            (b"".join(n.to_bytes(4, sys.byteorder) for n in layout.HEAD), "another version"),
        ],
    )
    def test_another_kind_is_refused_and_can_be_replaced(self, tmp_path, content, words):
        path = tmp_path / "a.ledger"
        path.write_bytes(content)
        with pytest.raises(LedgerError, match=words):
            Ledger.open(path)
        assert path.read_bytes() == content
        with Ledger.create(path) as ledger:
            assert len(ledger.state().devices) == 1

    def test_a_new_scenario_reaches_those_who_have_it_open(self, ledger):
        ledger.charge(ME, 0, GIB)
        Ledger.create(ledger.path, "eight").close()
        assert len(ledger.state().devices) == 8
        assert ledger.memory(0).used == 0

    def test_the_default_is_private(self, tmp_path, monkeypatch):
        monkeypatch.delenv(files.ENVIRONMENT, raising=False)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        assert files.default_path() == tmp_path / "jupyterlab-vram" / "simulated.ledger"
        assert (tmp_path / "jupyterlab-vram").stat().st_mode & 0o777 == 0o700
        (tmp_path / "jupyterlab-vram").chmod(0o777)
        with pytest.raises(LedgerError, match="not a folder of yours alone"):
            files.default_path()

    def test_a_link_in_the_temporary_folder_is_not_followed(self, tmp_path, monkeypatch):
        monkeypatch.delenv(files.ENVIRONMENT, raising=False)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (tmp_path / f"jupyterlab-vram-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(LedgerError, match="not a folder of yours alone"):
            files.default_path()


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_loads(tmp_path, name):
    with Ledger.create(tmp_path / "a.ledger", name) as ledger:
        devices = ledger.state().devices
    assert len(devices) == len(SCENARIOS[name]["devices"])
    assert len({device.uuid for device in devices}) == len(devices)
    assert all("Simulated" in device.name for device in devices)


def test_a_scenario_with_a_typing_error_is_refused(tmp_path):
    with pytest.raises(KeyError):
        Ledger.create(tmp_path / "a.ledger", {"devices": [{"temprature": 3}]})
    with pytest.raises(ValueError, match='Write it like "3 GiB"'):
        Ledger.create(tmp_path / "a.ledger", {"devices": [{"total": "three"}]})
    assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize(
    ("text", "nbytes"), [("3 GiB", 3 * GIB), ("1.5MiB", 3 << 19), ("7", 7), (9, 9), ("2 kib", 2048)]
)
def test_sizes(text, nbytes):
    assert size(text) == nbytes


def test_text_is_cut_between_characters_and_bytes_are_kept(ledger):
    ledger.set_device(0, name="ä" * 60)
    assert ledger.state().devices[0].name == "ä" * 47
    ledger.set_device(0, name=b"\xff\xfe")
    assert ledger.state().devices[0].name == "��"


def test_runs_on_a_kernels_old_python(tmp_path):
    """Notebooks import it, with whatever Python their kernel has."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted(root.glob("versions/3.8.*/bin/python"))
    if not found:
        pytest.skip("There is no Python 3.8 here.")
    assert run(FORK, tmp_path / "a.ledger", found[0]) == "waits\n0\n"
