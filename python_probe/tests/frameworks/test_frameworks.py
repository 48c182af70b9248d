"""Real CUDA builds on the simulated driver: the texts and figures that the product relies on."""

from __future__ import annotations

import json
import subprocess

import pytest
from jupyter_client.manager import KernelManager

from . import kernelspec

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(300)]
GIB, MIB = 1 << 30, 1 << 20
CONTEXT = 300 * MIB

TORCH = "import torch; gib = lambda n: torch.empty(n << 30, dtype=torch.uint8, device='cuda')"


class TestTorch:
    def test_holds_frees_and_keeps_its_context(self, child, fake_driver):
        ledger, torch = fake_driver.ledger, child()
        torch.run(TORCH)
        assert ledger.held(torch.pid, 0) == 0  # an import takes nothing
        torch.run("x = gib(2)")
        assert ledger.held(torch.pid, 0) == 2 * GIB + CONTEXT
        torch.run("del x")
        assert torch.run("print(torch.cuda.memory_allocated())") == "0"
        assert ledger.held(torch.pid, 0) == 2 * GIB + CONTEXT  # cached
        torch.run("torch.cuda.empty_cache()")
        assert ledger.held(torch.pid, 0) == CONTEXT
        torch.end()
        assert ledger.held(torch.pid, 0) == 0

    def test_runs_out_with_its_own_words(self, child):
        torch = child()
        torch.run(TORCH + "; kept = [gib(2) for _ in range(11)]")
        text = torch.run("gib(2)")
        assert text.startswith(
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
            "capacity of 23.65 GiB of which 1.36 GiB is free. Including non-PyTorch memory, this "
            "process has 22.29 GiB memory in use. Of the allocated memory 22.00 GiB is allocated "
            "by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
        )

    def test_two_processes_see_each_other(self, child, fake_driver):
        one, other = child(), child()
        one.run(TORCH + "; x = gib(20)")
        text = other.run(TORCH + "; gib(4)")
        assert f"Process {one.pid} has 20.29 GiB memory in use." in text
        fake_driver.ledger.set_driver(pid_offset=100_000)
        assert f"Process {one.pid + 100_000} has 20.29 GiB" in other.run("gib(4)")
        fake_driver.ledger.set_device(0, hide_processes=1)
        assert "memory in use" not in other.run("gib(4)")
        one.run("del x; torch.cuda.empty_cache()")
        assert other.run("gib(4); print('fits')") == "fits"

    def test_computes_without_values(self, child):
        torch = child()
        shown = torch.run(
            """
            import torch
            model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
            optimizer = torch.optim.Adam(model.parameters())
            model(torch.randn(8, 256, device="cuda")).sum().backward()
            optimizer.step()
            print(torch.arange(5.0).cuda().cpu().tolist(), torch.cuda.memory_allocated() > 0)
            """
        )
        assert shown == "[0.0, 1.0, 2.0, 3.0, 4.0] True"

    def test_expandable_segments(self, child, fake_driver):
        torch = child(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        torch.run(TORCH + "; x = gib(2)")
        # Such a segment grows in steps of 20 MiB.
        assert fake_driver.ledger.held(torch.pid, 0) == 2060 * MIB + CONTEXT
        torch.run("del x; torch.cuda.empty_cache()")
        assert fake_driver.ledger.held(torch.pid, 0) == CONTEXT

    def test_chooses_by_visible_devices(self, child, fake_driver):
        fake_driver.load("eight")
        uuid = fake_driver.ledger.state().devices[5].uuid
        torch = child(CUDA_VISIBLE_DEVICES=uuid)
        torch.run(TORCH + "; x = gib(1)")
        assert torch.run("print(torch.cuda.device_count())") == "1"
        assert [p.device for p in fake_driver.ledger.state().processes] == [5]

    def test_looking_makes_no_context(self, child, fake_driver):
        """What an agent may call in a kernel that has imported torch and not used the GPU."""
        torch = child()
        torch.run("import torch")
        for call in (
            "is_available()",
            "device_count()",
            "is_initialized()",
            "memory_allocated()",
            "memory_reserved()",
            "memory_stats()",
            "memory_snapshot()",
            "empty_cache()",
        ):
            assert torch.run(f"torch.cuda.{call}; print('done')") == "done"
            assert fake_driver.ledger.held(torch.pid, 0) == 0, call

    def test_memory_info_makes_one(self, child, fake_driver):
        torch = child()
        torch.run("import torch; torch.cuda.mem_get_info()")
        assert fake_driver.ledger.held(torch.pid, 0) == CONTEXT

    def test_an_injected_failure_arrives(self, child, fake_driver):
        torch = child()
        torch.run(TORCH + "; x = gib(1)")
        fake_driver.ledger.inject("cudaDeviceSynchronize", code=700)
        text = torch.run("torch.cuda.synchronize()")
        assert "an illegal memory access was encountered" in text


class TestNumba:
    def test_holds_and_frees(self, child, fake_driver):
        ledger, numba = fake_driver.ledger, child(preload=False)
        numba.run("from numba import cuda; x = cuda.device_array(1 << 30, 'u1')")
        assert ledger.held(numba.pid, 0) == 1 * GIB + CONTEXT
        numba.run("del x; cuda.current_context().memory_manager.deallocations.clear()")
        assert ledger.held(numba.pid, 0) == CONTEXT
        numba.run("cuda.close()")
        assert ledger.held(numba.pid, 0) == 0

    def test_copies(self, child):
        numba = child(preload=False)
        code = "from numba import cuda; import numpy; x = cuda.to_device(numpy.arange(3))"
        numba.run(code)
        assert numba.run("print(x.copy_to_host().tolist())") == "[0, 1, 2]"

    def test_runs_out_with_its_own_words(self, child):
        numba = child(preload=False)
        text = numba.run("from numba import cuda; cuda.device_array(30 << 30, 'u1')")
        assert "CUDA_ERROR_OUT_OF_MEMORY" in text


def test_a_kernel_holds_memory(fake_driver, frameworks_python, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    name = kernelspec.write(
        tmp_path, frameworks_python, fake_driver.driver, fake_driver.ledger.path
    )
    manager = KernelManager(kernel_name=name)
    manager.start_kernel()
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive(TORCH + "; x = gib(3)", timeout=120)
        assert reply["content"]["status"] == "ok"
        pid = manager.provisioner.pid
        assert fake_driver.ledger.held(pid, 0) == 3 * GIB + CONTEXT
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert fake_driver.ledger.memory(0).used == 0


LAYOUTS = {
    "DeviceProp": (
        "struct cudaDeviceProp",
        """uuid totalGlobalMem memPitch totalConstMem textureAlignment canMapHostMemory
        surfaceAlignment pciBusID l2CacheSize sharedMemPerMultiprocessor sharedMemPerBlockOptin
        reservedSharedMemPerBlock memoryPoolsSupported""",
    ),
    "FunctionAttributes": ("struct cudaFuncAttributes", ""),
    "PointerAttributes": ("struct cudaPointerAttributes", ""),
    "AllocationProp": ("CUmemAllocationProp", "location"),
    "LaunchConfig": ("cudaLaunchConfig_t", "stream"),
    "DriverLaunchConfig": ("CUlaunchConfig", "hStream"),
    "MemLocation": ("CUmemLocation", ""),
    "IpcHandle": ("cudaIpcMemHandle_t", ""),
}


def test_layouts_are_nvidias(built_driver, frameworks_python, tmp_path):
    """Sizes and offsets of the structs that the simulated driver declares itself."""
    headers = subprocess.run(
        [frameworks_python, "-c", "import nvidia; print(list(nvidia.__path__)[0])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()

    def measure(ours: bool) -> dict[str, int]:
        lines = ["#include <stddef.h>", "#include <stdio.h>"]
        lines += ['#include "cuda_types.h"'] if ours else ["#include <cuda_runtime_api.h>"]
        lines += [] if ours else ["#include <cuda.h>"]
        lines.append('int main(void) { const char *comma = "{";')
        for mine, (theirs, members) in LAYOUTS.items():
            kind = mine if ours else theirs
            figures = {mine: f"sizeof({kind})"}
            figures |= {f"{mine}.{m}": f"offsetof({kind}, {m})" for m in members.split()}
            for label, figure in figures.items():
                lines.append(f'printf("%s\\"{label}\\": %zu", comma, {figure}); comma = ",";')
        lines.append('puts("}"); }')
        source, program = tmp_path / "measure.c", tmp_path / "measure"
        source.write_text("\n".join(lines))
        sources = built_driver.folder.parents[1] / "src"
        include = f"-I{sources}" if ours else f"-I{headers}/cu13/include"
        subprocess.run(["gcc", include, "-o", program, source], check=True)
        return json.loads(subprocess.run([program], capture_output=True, check=True).stdout)

    assert measure(ours=True) == measure(ours=False)
