"""Kernels restarted on another GPU, or on the CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from asking import request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import place
from jupyterlab_vram.kernels.errors import NotOffered
from jupyterlab_vram.kernels.registry import KernelRegistry
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.simulated.ledger import Ledger
from users import TAKE, Person, until

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]
Read = Callable[[], Awaitable[wire.Snapshot]]


@pytest.fixture(params=["eight"])
def ledger(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ledger]:
    path = tmp_path / "ledger"
    monkeypatch.setenv("VRAM_SIMULATED_LEDGER", str(path))
    with Ledger.open(path, scenario=request.param) as ledger:
        yield ledger


@pytest.fixture
def make_spec(jp_serverapp: Any, tmp_path: Path) -> Callable[..., None]:
    """Adds a kernel specification, with a program in front and an environment of its own."""

    def make_spec(name: str, *before: str, **environment: str) -> None:
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        spec = {
            "argv": [
                *before,
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "-f",
                "{connection_file}",
            ],
            "language": "python",
            "display_name": name,
            "env": environment,
        }
        (folder / "kernel.json").write_text(json.dumps(spec))
        jp_serverapp.kernel_spec_manager.kernel_dirs.append(str(tmp_path / "kernels"))

    return make_spec


SLICES = pytest.mark.parametrize("ledger", ["mig"], indirect=True)


def restart_at(where: str) -> wire.RunRequest:
    return request(wire.RunStep(id="restart", place=where))


async def held_by(read: Read, someone: Person) -> wire.Kernel:
    [row] = [row for row in (await read()).kernels if row.id == someone.kernel_id]
    return row


async def test_a_kernel_moves_to_another_gpu_and_stays_there(
    remedies: Make, person: Open, read: Read, registry: KernelRegistry, jp_serverapp: Any
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    gpus = (await read()).gpus
    assert (await held_by(read, someone)).place is None
    report = await remedies().run(someone.kernel_id, restart_at(gpus[5].uuid), lambda _: None)
    [step] = report.steps
    assert step.ok
    assert (step.freed or 0) > 3 * GIB
    assert "restarted on GPU 5" in (step.text or "")

    await someone.sit_down()
    await someone.run(TAKE.format(gib=2))
    row = await held_by(read, someone)
    assert (list(row.gpus), row.place) == ([gpus[5].uuid], gpus[5].uuid)

    # as the server's own route does it, and as the server itself does it after a crash
    await jp_serverapp.kernel_manager.restart_kernel(someone.kernel_id)
    await someone.sit_down()
    await someone.run(TAKE.format(gib=1))
    assert list((await held_by(read, someone)).gpus) == [gpus[5].uuid]
    process = (await registry.get(someone.kernel_id)).process
    assert process is not None
    process.kill()
    manager = jp_serverapp.kernel_manager.get_kernel(someone.kernel_id)
    await until(lambda: manager.provisioner.pid not in (None, process.pid))
    await someone.sit_down()
    await someone.run(TAKE.format(gib=1))
    assert list((await held_by(read, someone)).gpus) == [gpus[5].uuid]

    other = await person("other.ipynb")
    await other.run(TAKE.format(gib=1))
    assert list((await held_by(read, other)).gpus) == [gpus[0].uuid]


async def test_a_kernel_moves_to_the_cpu_and_back(remedies: Make, person: Open, read: Read) -> None:
    someone = await person()
    door = remedies()
    report = await door.run(someone.kernel_id, restart_at("cpu"), lambda _: None)
    assert report.steps[0].ok
    assert "without a GPU" in (report.steps[0].text or "")
    await someone.sit_down()
    assert (await held_by(read, someone)).place == "cpu"
    assert (await someone.run(TAKE.format(gib=1)))["ename"] == "IndexError"

    await door.run(someone.kernel_id, request("restart"), lambda _: None)
    await someone.sit_down()
    assert (await held_by(read, someone)).place == "cpu"
    uuid = (await read()).gpus[1].uuid
    await door.run(someone.kernel_id, restart_at(uuid), lambda _: None)
    await someone.sit_down()
    assert (await someone.run(TAKE.format(gib=1)))["status"] == "ok"
    assert list((await held_by(read, someone)).gpus) == [uuid]


async def test_a_choice_beats_the_specifications_own(
    remedies: Make, person: Open, read: Read, make_spec: Callable[..., None]
) -> None:
    make_spec("pinned", CUDA_VISIBLE_DEVICES="0", MINE="kept")
    someone, other = await person("a.ipynb", "pinned"), await person("b.ipynb", "pinned")
    uuid = (await read()).gpus[3].uuid
    await remedies().run(someone.kernel_id, restart_at(uuid), lambda _: None)
    await someone.sit_down()
    await someone.run(TAKE.format(gib=1))
    await someone.run("import os; assert os.environ['MINE'] == 'kept'")
    assert list((await held_by(read, someone)).gpus) == [uuid]
    await remedies().run(other.kernel_id, request("restart"), lambda _: None)
    await other.sit_down()
    await other.run(TAKE.format(gib=1))
    assert list((await held_by(read, other)).gpus) == [(await read()).gpus[0].uuid]


async def test_a_kernel_whose_program_chooses_itself_says_that_it_did_not_move(
    remedies: Make, person: Open, read: Read, make_spec: Callable[..., None]
) -> None:
    make_spec("chooses", "env", "CUDA_VISIBLE_DEVICES=0")
    someone = await person("a.ipynb", "chooses")
    uuid = (await read()).gpus[1].uuid
    report = await remedies().run(someone.kernel_id, restart_at(uuid), lambda _: None)
    assert "did not move" in (report.steps[0].text or "")


async def test_a_failed_restart_leaves_the_kernel_where_it_was(
    remedies: Make, person: Open, read: Read, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = await person()
    manager = jp_serverapp.kernel_manager

    async def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("no room for processes")

    with monkeypatch.context() as broken:
        broken.setattr(manager, "restart_kernel", refuse)
        report = await remedies().run(someone.kernel_id, restart_at("cpu"), lambda _: None)
    assert report.steps[0].ok is False
    assert "no room for processes" in (report.steps[0].text or "")
    assert place.place_of(manager.get_kernel(someone.kernel_id)) is None


@SLICES
async def test_a_slice_is_a_place_and_its_card_is_not(
    remedies: Make, person: Open, read: Read
) -> None:
    someone = await person()
    door = remedies()
    card, _, small = (await read()).gpus
    with pytest.raises(NotOffered, match="slices"):
        await door.run(someone.kernel_id, restart_at(card.uuid), lambda _: None)
    report = await door.run(someone.kernel_id, restart_at(small.uuid), lambda _: None)
    assert report.steps[0].ok
    await someone.sit_down()
    await someone.run(TAKE.format(gib=1))
    row = await held_by(read, someone)
    assert (list(row.gpus), row.place) == ([small.uuid], small.uuid)


@pytest.mark.parametrize("where", ["", "0", "1", "GPU-nobody", "CPU", "-1", "cpu "])
async def test_places_that_are_not(remedies: Make, person: Open, where: str) -> None:
    someone = await person()
    pid = someone.pid
    with pytest.raises(NotOffered, match="no GPU with this id"):
        await remedies().run(someone.kernel_id, restart_at(where), lambda _: None)
    assert psutil.pid_exists(pid) and someone.pid == pid


async def test_kernels_that_this_server_does_not_start(
    remedies: Make, person: Open, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = await person()
    manager = jp_serverapp.kernel_manager.get_kernel(someone.kernel_id)

    class Elsewhere:
        """Stands in for a provisioner that starts kernels on other computers."""

        pid = None
        process = None

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(manager, "provisioner", Elsewhere())
        with pytest.raises(NotOffered, match="isn't started by this server"):
            await remedies().run(someone.kernel_id, restart_at("cpu"), lambda _: None)
