"""What ``npm run test:gpu`` runs on a real card, here on the simulated driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(300)]
PROBE = Path(__file__).parents[2]


def run(file: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, [PROBE, PROBE / "tests"]))
    return subprocess.run(
        [sys.executable, "-m", "bench.gpu", file, *options],
        env={**os.environ, "PYTHONPATH": paths, **variables},
        capture_output=True,
        text=True,
    )


def test_the_story_comes_out_and_says_what_it_ran_on(frameworks_python, built_driver, tmp_path):
    file = tmp_path / "gpu.json"
    done = run(file, "--simulated", VRAM_GPU_PYTHON=str(frameworks_python))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(file.read_text())
    assert result["simulated"] is True
    steps = [row["measure"] for row in result["rows"] if row["holds"]]
    assert steps[-4:] == ["park", "restore", "restart", "The other notebook's cell"]
    assert len(steps) == len(result["rows"]) == 8


def test_without_pytorch_for_the_gpu_it_says_what_to_do(tmp_path):
    done = run(tmp_path / "gpu.json", VRAM_GPU_PYTHON=sys.executable)
    assert done.returncode == 1
    assert "Name a Python that has both in VRAM_GPU_PYTHON." in done.stderr


def test_without_a_driver_it_says_so(frameworks_python, tmp_path):
    if shutil.which("nvidia-smi"):
        pytest.skip("There is an NVIDIA driver here.")
    done = run(tmp_path / "gpu.json", VRAM_GPU_PYTHON=str(frameworks_python))
    assert done.returncode == 1
    assert done.stderr.startswith("No NVIDIA GPU found"), done.stderr
