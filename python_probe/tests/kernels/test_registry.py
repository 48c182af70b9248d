"""Which kernels a real server runs."""

from __future__ import annotations

import time
from typing import Any

import psutil
import pytest
from jupyterlab_vram.kernels.errors import KernelGone
from jupyterlab_vram.kernels.registry import KernelRegistry
from users import Person


async def test_what_is_known_of_a_kernel(registry: KernelRegistry, person: Any) -> None:
    someone: Person = await person("deep/train.ipynb")
    [kernel] = await registry.list()
    assert (kernel.id, kernel.name, kernel.language) == (someone.kernel_id, "python3", "python")
    assert (kernel.state, kernel.host, kernel.connections) == ("idle", None, 0)
    assert kernel.notebook == "deep/train.ipynb"
    assert kernel.last_activity == someone.last_activity
    answer = await someone.run(f"import os; assert os.getpid() == {kernel.pid}")
    assert answer["status"] == "ok"
    assert kernel.started_at == psutil.Process(kernel.pid).create_time()
    assert await registry.get(kernel.id) is not None


async def test_a_rename_and_a_second_session(
    registry: KernelRegistry, person: Any, jp_serverapp: Any
) -> None:
    someone: Person = await person("old.ipynb")
    sessions = jp_serverapp.session_manager
    await sessions.create_session(
        path="console-1", name="", type="console", kernel_id=someone.kernel_id
    )
    [kernel] = await registry.list()
    assert (kernel.notebook, len(kernel.sessions)) == ("old.ipynb", 2)
    [first, _] = await sessions.list_sessions()
    await sessions.update_session(first["id"], path="new.ipynb", name="new.ipynb")
    [kernel] = await registry.list()
    assert kernel.notebook == "new.ipynb"


async def test_a_restart_is_followed(
    registry: KernelRegistry, person: Any, jp_serverapp: Any
) -> None:
    someone: Person = await person("a.ipynb")
    [before] = await registry.list()
    await jp_serverapp.kernel_manager.restart_kernel(someone.kernel_id)
    await someone.sit_down()
    [after] = await registry.list()
    assert (after.id, after.notebook) == (before.id, "a.ipynb")
    assert after.process != before.process
    [ended] = registry.ended()
    assert (ended.process, ended.notebook) == (before.process, "a.ipynb")


async def test_a_kernel_that_ended(
    registry: KernelRegistry, person: Any, jp_serverapp: Any
) -> None:
    someone: Person = await person("a.ipynb")
    await registry.list()
    await jp_serverapp.kernel_manager.shutdown_kernel(someone.kernel_id, now=True)
    assert await registry.list() == []
    [ended] = registry.ended()
    assert (ended.id, ended.notebook) == (someone.kernel_id, "a.ipynb")
    with pytest.raises(KernelGone):
        await registry.get(someone.kernel_id)


async def test_looking_is_no_activity(registry: KernelRegistry, person: Any) -> None:
    someone: Person = await person()
    await someone.begin("import time; time.sleep(2)")
    for _ in range(50):
        await registry.list()
    assert someone.state == "busy"
    await someone.until_idle()
    before = someone.last_activity
    for _ in range(50):
        await registry.list()
    assert someone.last_activity == before


async def test_sessions_are_listed_only_when_they_changed(
    registry: KernelRegistry, person: Any, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person()
    sessions = jp_serverapp.session_manager
    for number in range(200):
        await sessions.save_session(
            f"s{number}", f"{number}.ipynb", "", "notebook", (await registry.list())[0].id
        )
    assert len((await registry.list())[0].sessions) == 201
    listed = []
    list_sessions = sessions.list_sessions
    monkeypatch.setattr(sessions, "list_sessions", lambda: listed.append(1) or list_sessions())
    started = time.perf_counter()
    for _ in range(100):
        await registry.list()
    assert listed == []
    assert (time.perf_counter() - started) / 100 < 0.005
