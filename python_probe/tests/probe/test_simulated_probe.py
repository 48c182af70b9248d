"""The simulated GPU as a reading."""

import os

import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.probe import make_probe
from jupyterlab_vram.simulated import layout
from jupyterlab_vram.simulated.ledger import Ledger

GIB = 1 << 30


def read():
    return make_probe("simulated").read()


def test_what_this_process_takes_is_read_back(ledger):
    ledger.open_context(os.getpid(), 0)
    ledger.charge(os.getpid(), 0, 18 * GIB)
    reading = read()
    assert (reading.state, reading.source) == ("ok", "simulated")
    (gpu,) = reading.gpus
    (process,) = reading.processes
    assert "Simulated" in gpu.name
    assert (process.pid, process.gpu, process.type) == (os.getpid(), gpu.uuid, "C")
    assert process.bytes == gpu.memory.used == ledger.held(os.getpid(), 0)
    assert gpu.memory.total == gpu.memory.used + gpu.memory.free + gpu.memory.reserved
    ledger.release_all(os.getpid())
    assert read().processes == ()


def test_what_a_gpu_does_not_support_is_null_with_a_reason(ledger):
    ledger.set_device(0, power=None, fan=None, gpu_use=None)
    (gpu,) = read().gpus
    assert gpu.power.draw is None and gpu.fan is None and gpu.utilization.gpu is None
    assert set(gpu.unknown) == {"power.draw", "fan", "utilization.gpu"}
    assert gpu.temperature.now == 41


def test_values_are_in_the_wires_units(ledger):
    ledger.set_device(0, gpu_use=97, power=301_500, pcie_rx=1000, throttling=0x20 | 0x4)
    (gpu,) = read().gpus
    assert (gpu.utilization.gpu, gpu.power.draw, gpu.pcie.rx) == (0.97, 301.5, 1e6)
    assert gpu.throttling == ["heat", "power"]
    assert gpu.unknown == {}
    wire.encode(gpu)


def test_windows_sizes_and_hidden_lists(ledger):
    ledger.add_process(4242, 0, "3 GiB")
    ledger.set_device(0, wddm=1)
    reading = read()
    assert [(p.pid, p.bytes) for p in reading.processes] == [(4242, None)]
    assert reading.views.sizes == "none" and reading.views.reason
    ledger.set_device(0, wddm=0, hide_processes=1)
    reading = read()
    assert reading.processes == ()
    assert reading.views.processes == "none" and reading.views.reason
    assert reading.gpus[0].memory.used == 3 * GIB


def test_pids_of_another_namespace(ledger):
    ledger.add_process(4242, 0, "3 GiB")
    ledger.set_driver(pid_offset=100_000)
    assert [process.pid for process in read().processes] == [104_242]


def test_a_hidden_process_is_missing_from_the_list_and_its_memory_is_not(ledger):
    ledger.add_process(4242, 0, "3 GiB", hidden=True)
    ledger.add_process(4243, 0, "1 GiB", lists=layout.GRAPHICS)
    reading = read()
    assert [(p.pid, p.type) for p in reading.processes] == [(4243, "G")]
    assert reading.gpus[0].memory.used == 4 * GIB


def test_slices_name_their_card(ledger):
    Ledger.create(ledger.path, "mig").close()
    ledger.add_process(4242, 1, "3 GiB")
    reading = read()
    card, first, second = reading.gpus
    assert (card.parent, first.parent, second.parent) == (None, card.uuid, card.uuid)
    assert (card.index, first.index, second.index) == (0, 0, 1)
    assert [process.gpu for process in reading.processes] == [first.uuid]
    assert card.memory.used == first.memory.used == 3 * GIB


def test_a_gpu_that_shares_the_systems_ram(ledger):
    Ledger.create(ledger.path, "unified").close()
    ledger.add_process(4242, 0, "3 GiB")
    (gpu,) = read().gpus
    assert gpu.memory.unified and gpu.memory.used == 3 * GIB
    assert gpu.memory.total > 0


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("LIBRARY_NOT_FOUND", "no-library"),
        ("DRIVER_NOT_LOADED", "no-driver"),
        ("LIB_RM_VERSION_MISMATCH", "version-mismatch"),
        ("NO_PERMISSION", "no-permission"),
        ("UNKNOWN", "no-driver"),
    ],
)
def test_injected_failures(ledger, code, state):
    probe = make_probe("simulated")
    ledger.inject("nvmlInit*", code=code)
    reading = probe.read()
    assert (reading.state, reading.gpus, reading.processes) == (state, (), ())
    assert reading.problem.text and reading.problem.hint
    ledger.clear_injected()
    assert probe.read().state == "ok"
    ledger.inject("nvmlInit*", code=code)
    assert probe.read().state in ("lost-access", "version-mismatch")


def test_a_lost_gpu_keeps_its_name_and_the_others_go_on(ledger):
    Ledger.create(ledger.path, "lab").close()
    ledger.inject("nvmlDeviceGetHandleByIndex_v2", device=1, code="GPU_IS_LOST")
    good, lost, other = read().gpus
    assert (good.health, lost.health, other.health) == ("ok", "lost", "ok")
    assert lost.uuid and lost.name and lost.memory.used is None
    assert good.memory.used > 3 * GIB and other.memory.total > 0


def test_a_ledger_that_is_none_is_a_state(ledger):
    ledger.path.write_bytes(b"something else entirely")
    reading = read()
    assert reading.state == "no-devices"
    assert "not a ledger" in reading.problem.text


def test_a_ledger_that_was_deleted_is_made_anew(ledger):
    probe = make_probe("simulated")
    ledger.add_process(4242, 0, "3 GiB")
    assert len(probe.read().processes) == 1
    ledger.path.unlink()
    assert probe.read().processes == ()
