"""Whose process it is, on real process trees and the simulated GPU's books."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from families import GIB, Family, connection_file, until
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import processes
from jupyterlab_vram.kernels.attribution import Attributor
from jupyterlab_vram.kernels.known import EndedKernel, KnownKernel
from jupyterlab_vram.probe.open_devices import opens_gpu
from jupyterlab_vram.probe.simulated import SimulatedProbe
from jupyterlab_vram.simulated.ledger import Ledger

SLEEP = "import time; time.sleep(60)"
STARTS = "import subprocess as s; print(s.Popen({!r}, **{!r}).pid, flush=True);" + SLEEP
WORKERS = """
import multiprocessing, sys, time
if __name__ == "__main__":
    context = multiprocessing.get_context({!r})
    worker = context.Process(target=time.sleep, args=(60,))
    worker.start()
    print(worker.pid, flush=True)
    time.sleep(60)
"""

Known = Callable[..., KnownKernel]


@pytest.fixture
def attributor() -> Attributor:
    return Attributor(
        lambda pid: opens_gpu(pid, "simulated"), servers=[os.getpid()], root="/notebooks"
    )


@pytest.fixture
def holder(ledger: Ledger, attributor: Attributor) -> Callable[..., wire.Holder]:
    """The row of a process that holds a GiB."""

    def holder(
        process: psutil.Process, *kernels: KnownKernel, ended: tuple[EndedKernel, ...] = ()
    ) -> wire.Holder:
        if not ledger.held(process.pid, 0):
            ledger.charge(process.pid, 0, GIB)
        found = SimulatedProbe().read().processes
        rows = attributor.holders(found, kernels, ended)
        [row] = [row for row in rows if row.pid == process.pid]
        return row

    return holder


Holder = Callable[..., wire.Holder]


def test_a_kernel_is_its_own_main_process(family: Family, known: Known, holder: Holder) -> None:
    process = family.start(SLEEP, "-f", connection_file())
    row = holder(process, known(process))
    assert (row.kind, row.role, row.notebook) == ("kernel", "main", "train.ipynb")
    assert row.bytes == GIB
    assert row.started_at == process.create_time()


def test_a_wrapper_may_stand_between(family: Family, known: Known, holder: Holder) -> None:
    run = f"python3 -c 'import os; print(os.getpid(), flush=True); {SLEEP}' -f {connection_file()}"
    wrapper = family.command("bash", "-c", f"{run}; true")
    python = family.told(wrapper)
    kernel = known(wrapper)
    row = holder(python, kernel)
    assert (row.kind, row.role, row.kernel_id) == ("kernel", "main", kernel.id)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers(family: Family, known: Known, holder: Holder, tmp_path: Path, method: str) -> None:
    script = tmp_path / "work.py"
    script.write_text(WORKERS.format(method))
    process = family.command("python3", str(script), "-f", connection_file())
    worker = family.told(process)
    until(lambda: bool(worker.cmdline()))
    row = holder(worker, known(process))
    assert (row.kind, row.role) == ("kernel", "worker")


def test_the_nearest_kernel_wins(family: Family, known: Known, holder: Holder) -> None:
    outer = family.start(STARTS.format(["python3", "-c", SLEEP, "-f", connection_file()], {}))
    inner = family.told(outer)
    row = holder(inner, known(outer, "outer.ipynb"), known(inner, "inner.ipynb"))
    assert row.notebook == "inner.ipynb"


def test_a_command_in_a_cell(family: Family, known: Known, holder: Holder) -> None:
    process = family.start(STARTS.format(["sleep", "60"], {}), "-f", connection_file())
    child = family.told(process)
    until(lambda: child.name() == "sleep")
    row = holder(child, known(process))
    assert (row.kind, row.role, row.name) == ("kernel", "command", "sleep")


def test_a_renamed_notebook_is_named_anew_at_once(
    family: Family, known: Known, holder: Holder
) -> None:
    process = family.start(SLEEP, "-f", connection_file())
    assert holder(process, known(process, "a.ipynb")).notebook == "a.ipynb"
    assert holder(process, known(process, "b.ipynb")).notebook == "b.ipynb"


def test_what_a_restart_leaves_is_remembered(family: Family, known: Known, holder: Holder) -> None:
    code = STARTS.format(["sleep", "60"], {"start_new_session": True})
    process = family.start(code, "-f", connection_file())
    orphan = family.told(process)
    kernel = known(process, "old-train.ipynb")
    assert holder(orphan, kernel).kind == "kernel"
    family.reap(process)
    gone = EndedKernel(id=kernel.id, process=process, notebook="old-train.ipynb", ended_at=1.0)
    row = holder(orphan, ended=(gone,))
    assert (row.kind, row.notebook, row.kernel_id) == ("leftover", "old-train.ipynb", kernel.id)


def test_a_detached_process_stays_its_running_kernel_s(
    family: Family, known: Known, holder: Holder
) -> None:
    daemonize = "import os; p = os.fork(); p and os._exit(0); print(os.getpid(), flush=True);"
    code = f"import subprocess as s; s.run(['python3', '-c', {(daemonize + SLEEP)!r}]);" + SLEEP
    environment = {"JPY_PARENT_PID": str(os.getpid()), "JPY_SESSION_NAME": "/notebooks/a.ipynb"}
    process = family.start(code, "-f", connection_file(), **environment)
    other = family.start(SLEEP, JPY_PARENT_PID=str(os.getpid()), JPY_SESSION_NAME="/notebooks/b")
    daemon = family.told(process)
    until(lambda: process not in daemon.parents())
    row = holder(daemon, known(process, "a.ipynb"), known(other, "b.ipynb"))
    assert (row.kind, row.notebook) == ("kernel", "a.ipynb")


def test_two_kernels_with_one_name_are_never_guessed_between(
    family: Family, known: Known, holder: Holder
) -> None:
    environment = {"JPY_PARENT_PID": str(os.getpid()), "JPY_SESSION_NAME": "/notebooks/a.ipynb"}
    kernels = [known(family.start(SLEEP, **environment), "a.ipynb") for _ in range(2)]
    orphan = family.start(SLEEP, **environment)
    row = holder(orphan, *kernels)
    assert (row.kind, row.kernel_id, row.notebook) == ("leftover", None, "a.ipynb")


def test_an_orphan_that_was_never_seen_before(family: Family, holder: Holder) -> None:
    orphan = family.start(
        SLEEP, JPY_PARENT_PID=str(os.getpid()), JPY_SESSION_NAME="/notebooks/deep/old.ipynb"
    )
    row = holder(orphan)
    assert (row.kind, row.notebook) == ("leftover", "deep/old.ipynb")


def test_an_orphan_of_a_server_that_has_ended(family: Family, holder: Holder) -> None:
    server = family.start(SLEEP)
    orphan = family.start(SLEEP, "-f", connection_file(), JPY_PARENT_PID=str(server.pid))
    assert holder(orphan).kind == "other-kernel"
    family.reap(server)
    again = family.start(SLEEP, "-f", connection_file(), JPY_PARENT_PID=str(server.pid))
    assert holder(again).kind == "leftover"


def test_another_program_s_kernel(family: Family, holder: Holder) -> None:
    kernel = family.start(SLEEP, f"--f={connection_file()}")
    row = holder(kernel)
    assert (row.kind, row.role) == ("other-kernel", "main")


def test_any_other_process_of_this_user(family: Family, holder: Holder) -> None:
    assert holder(family.start(SLEEP)).kind == "own"


def test_shared_infrastructure_even_below_a_kernel(
    family: Family, known: Known, holder: Holder, tmp_path: Path
) -> None:
    server = tmp_path / "nvidia-cuda-mps-server"
    shutil.copy(shutil.which("sleep") or "sleep", server)
    process = family.start(STARTS.format([str(server), "60"], {}), "-f", connection_file())
    child = family.told(process)
    until(lambda: child.name() == server.name)
    assert holder(child, known(process)).kind == "shared"


def test_the_system(holder: Holder) -> None:
    assert holder(psutil.Process(1)).kind == "system"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start another user's process")
def test_another_user(family: Family, holder: Holder) -> None:
    theirs = family.start(f"import os; os.setuid(65534); print(os.getpid(), flush=True); {SLEEP}")
    row = holder(family.told(theirs))
    assert row.kind == "other-user"


def test_a_number_of_another_container_blames_nobody(
    family: Family, known: Known, ledger: Ledger, attributor: Attributor
) -> None:
    """Here the driver counts one container's processes, shifted, so that numbers coincide."""
    kernel = family.start(SLEEP, "-f", connection_file())
    stranger = family.start(SLEEP)
    ledger.charge(stranger.pid, 0, GIB)
    ledger.set_driver(pid_offset=kernel.pid - stranger.pid)
    [found] = SimulatedProbe().read().processes
    assert found.pid == kernel.pid
    [row] = attributor.holders([found], [known(kernel)])
    assert (row.kind, row.kernel_id, row.notebook, row.bytes) == ("unseen", None, None, GIB)


def test_a_process_that_has_just_ended_keeps_its_row(
    family: Family, known: Known, ledger: Ledger, attributor: Attributor
) -> None:
    process = family.start(SLEEP, "-f", connection_file())
    ledger.charge(process.pid, 0, GIB)
    found = SimulatedProbe().read().processes
    kernel = known(process)
    family.reap(process)
    [row] = attributor.holders(found, [kernel])
    assert (row.kind, row.bytes, row.started_at) == ("unseen", GIB, None)


def test_a_zombie_keeps_its_notebook(
    family: Family, known: Known, ledger: Ledger, attributor: Attributor
) -> None:
    process = family.start(SLEEP, "-f", connection_file())
    ledger.charge(process.pid, 0, GIB)
    found = SimulatedProbe().read().processes
    process.kill()
    until(lambda: process.status() == psutil.STATUS_ZOMBIE)
    [row] = attributor.holders(found, [known(process)])
    assert (row.kind, row.notebook) == ("kernel", "train.ipynb")


def test_names_that_json_cannot_carry(family: Family, holder: Holder, tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/\xff<b>"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    process = family.command(os.fsdecode(program), "60")
    until(lambda: process.name() != "python3")
    assert wire.encode(holder(process))


def test_cost_follows_what_changes(
    family: Family, known: Known, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = family.start(SLEEP, "-f", connection_file())
    kernels = [known(process), *(known(family.start(SLEEP)) for _ in range(5))]
    holder(process, *kernels)
    looks = []
    look = processes.look
    monkeypatch.setattr(processes, "look", lambda each: looks.append(each) or look(each))
    for _ in range(20):
        holder(process, *kernels)
    assert looks == []
    new = known(family.start(SLEEP))
    holder(process, *kernels, new)
    assert set(looks) == {process}, "only what holds memory is looked at, whatever else runs"
