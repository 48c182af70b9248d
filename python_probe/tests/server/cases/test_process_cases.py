"""Whose memory it is, and when it comes back: idle and closed notebooks, engines, leftovers, late
release, and what can't be ended."""

import asyncio
import json
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from case_user import CONTEXT, GIB, MIB, fresh, remedy, rows
from jupyterlab_vram.kernels import lifecycle

pytestmark = [pytest.mark.fake_driver, pytest.mark.timeout(120)]

frameworks = pytest.mark.frameworks

STAND_INS = Path(__file__).parents[2] / "stand_ins"
TAKE = f"""
import sys
sys.path.insert(0, {str(STAND_INS)!r})
import device_memory
kept = device_memory.take(2 << 30)
"""


@frameworks
async def test_an_idle_notebook_blocks_another_and_is_found_by_name(open_notebook, ask, ledger):
    first = await open_notebook(path="monday.ipynb")
    second = await open_notebook(path="today.ipynb")
    await first.cell("x = take(20 << 10); del x")
    failed = await second.run("y = take(8 << 10)")
    assert failed["ename"] == "OutOfMemoryError"
    # Only the owner can free it: releasing in the other gives nothing.
    assert remedy(await second.plan(), "release-cache")["gain"] == 0
    snapshot = await fresh(ask)
    assert snapshot["unattributed"] == []
    found = max(snapshot["holders"], key=lambda row: row["bytes"])
    assert (found["pid"], found["notebook"]) == (first.pid, "monday.ipynb")
    report = await first.free("collect", "release-cache")  # the two clicks
    assert report["freed"] == 20 * GIB
    await second.cell("y = take(8 << 10)")


@frameworks
async def test_where_the_driver_names_nobody_the_kernels_tell(open_notebook, ask, ledger):
    user = await open_notebook()
    await user.cell("x = take(8500)")
    ledger.set_device(0, hide_processes=1)
    snapshot = await fresh(ask)
    assert snapshot["holders"] == []
    (unknown,) = snapshot["unattributed"]
    assert unknown["bytes"] == 8500 * MIB + CONTEXT
    plan = await user.plan()  # a click, so that the kernel may be asked
    assert rows(plan) == {"x": ("variable", 8500)}
    (holder,) = (await fresh(ask))["holders"]
    assert (holder["kernel_id"], holder["bytes_from"]) == (user.id, "kernel")
    assert holder["bytes"] >= 8500 * MIB
    report = await user.free({"id": "delete", "names": ["x"]})
    assert (report["steps"][0]["freed_by"], user.held) == ("framework", CONTEXT)
    assert report["freed"] == 8500 * MIB


class TestIdle:
    @pytest.fixture
    def jp_server_config(self, jp_server_config):
        culling = {"cull_idle_timeout": 8, "cull_interval": 1, "cull_connected": True}
        return {**jp_server_config, "MappingKernelManager": culling}

    async def test_a_closed_tab_keeps_its_kernel_which_is_culled_though_we_look(
        self, open_notebook, ask, jp_ws_fetch, jp_serverapp
    ):
        user = await open_notebook("plain")
        await user.cell(TAKE)
        tab = await jp_ws_fetch("api", "kernels", user.id, "channels")
        assert (await user.seen())["connections"] == 1
        tab.close()
        while (await user.seen())["connections"]:
            await asyncio.sleep(0.05)
        left = await user.seen()
        assert left["bytes"] == 2 * GIB + CONTEXT
        stream = await jp_ws_fetch("jupyterlab-vram", "stream")
        began = time.monotonic()
        while user.id in jp_serverapp.kernel_manager:
            assert time.monotonic() - began < 60
            code, plan = await ask("kernels", user.id, "plan")
            rows = (await fresh(ask))["kernels"]
            if code == 200 and rows:  # else it was culled meanwhile
                assert rows[0]["last_activity"] == left["last_activity"], plan
            await asyncio.sleep(0.5)
        stream.close()
        assert (await fresh(ask))["kernels"] == []


@frameworks
async def test_numbas_close_is_never_offered_and_its_end_is_a_restart(open_notebook):
    user = await open_notebook("numba")
    await user.cell("from numba import cuda\nx = cuda.device_array(1 << 30, 'u1')\ndel x")
    await user.cell("kept = cuda.device_array(200 << 20, 'u1')")
    await user.free("collect", "release-cache")
    assert user.held == 200 * MIB + CONTEXT
    await user.cell("kept.copy_to_host()")  # the context is as it was
    plan = await user.plan()
    assert "close" not in json.dumps(plan).replace("closed", "")
    # Somebody did it by hand: what they still have is gone from the device.
    await user.cell("cuda.close()")
    assert user.held == 0
    plan = await user.plan()
    assert not remedy(plan, "release-cache")["offered"]
    assert remedy(plan, "restart")["offered"]


class TestRelease:
    @pytest.mark.parametrize("seconds", [2, 20])
    async def test_is_waited_for(self, open_notebook, ledger, monkeypatch, seconds):
        monkeypatch.setattr(lifecycle, "RETURN_LIMIT", 4.0)
        user = await open_notebook("plain")
        await user.cell(TAKE)
        ledger.set_driver(release_ms=seconds * 1000)
        held, before = user.held, user.pid
        report = await user.free("restart")
        (step,) = report["steps"]
        if seconds == 2:
            assert step["seconds"] >= 2
            assert (report["freed"], report["survivors"]) == (held, [])
        else:  # it says what is so, not what should be
            assert (report["freed"], report["remains"]["bytes"]) == (0, held)
            assert [row["pid"] for row in report["survivors"]] == [before]


async def test_an_engine_in_a_process_of_its_own_is_ended(open_notebook):
    user = await open_notebook("plain")
    await user.cell(f"import sys; sys.path.insert(0, {str(STAND_INS)!r})")
    await user.cell("import vllm\nllm = vllm.LLM('a model')\nlost, llm = [llm], None")
    plan = await user.plan()
    assert plan["pools"] == ["vllm"]
    engine = next(row for row in plan["children"] if row["bytes"])
    assert engine["bytes"] == 256 * MIB + CONTEXT
    report = await user.free({"id": "end-children", "pids": [engine["pid"]]})
    assert (report["freed"], report["survivors"]) == (engine["bytes"], []), report
    gone = psutil.STATUS_ZOMBIE  # until vLLM, its parent, looks after it
    assert not psutil.pid_exists(engine["pid"]) or psutil.Process(engine["pid"]).status() == gone
    assert await user.value("len(lost)") == 1  # the notebook goes on


WAITS = r"""
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void**, int), cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, size_t);
int main(void) {
  void* context;
  unsigned long long memory;
  signal(SIGTERM, SIG_IGN);
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
  if (cuMemAlloc_v2(&memory, 1 << 30)) return 2;
  puts("holds");
  fflush(stdout);
  /* Until the child ends, its parent sleeps as one does that waits for a disk. */
  if (!vfork()) {
    pause();
    _exit(0);
  }
  return 0;
}
"""


async def test_a_process_that_waits_for_a_disk_is_told_of(
    open_notebook, own_driver, ask, tmp_path, monkeypatch
):
    source, program = tmp_path / "waits.c", tmp_path / "waits"
    source.write_text(WAITS)
    library = own_driver.driver.folder / "libcuda.so.1"
    subprocess.run(["gcc", "-w", "-o", program, source, library], check=True)
    user = await open_notebook("plain")
    await user.cell(
        f"""
        import subprocess
        worker = subprocess.Popen([{str(program)!r}], stdout=subprocess.PIPE, text=True)
        assert worker.stdout.readline() == "holds\\n"
        """
    )
    (holder,) = (await fresh(ask))["holders"]
    assert (holder["kind"], holder["bytes"]) == ("kernel", GIB + CONTEXT)
    process = psutil.Process(holder["pid"])
    while process.status() != psutil.STATUS_DISK_SLEEP:
        await asyncio.sleep(0.02)
    (waiting,) = process.children()
    # This sleep does end with a kill; those that don't can't be made here.
    monkeypatch.setattr(psutil.Process, "kill", lambda self: None)
    body = {"pid": holder["pid"], "started_at": holder["started_at"]}
    code, ended = await ask("holders", "end", method="POST", body=body)
    monkeypatch.undo()
    waiting.kill()
    assert (code, ended["ended"]) == (200, False)
    assert "could not be ended" in ended["text"]
    assert "waits for the driver or a disk" in ended["text"]
    assert "restarting the computer" in ended["text"]


async def test_what_a_kernel_left_in_shared_memory_is_not_touched(open_notebook):
    user = await open_notebook("plain")
    await user.cell(TAKE)
    await user.cell(
        """
        from multiprocessing import resource_tracker, shared_memory
        segment = shared_memory.SharedMemory(create=True, size=4096)
        resource_tracker.unregister("/" + segment.name, "shared_memory")
        """
    )
    left = Path("/dev/shm") / await user.value("segment.name")
    try:
        report = await user.free("shutdown")
        assert (report["freed"], report["survivors"]) == (2 * GIB + CONTEXT, [])
        assert left.exists()
    finally:
        left.unlink()
