"""NVML in one process with other extensions' libraries."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.fake_driver

READ = """
from jupyterlab_vram.probe import make_probe
reading = make_probe("nvml").read()
assert reading.state == "ok", reading
assert reading.gpus[0].memory.reserved, reading.gpus[0]
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import gpustat\n" + READ, id="imported before"),
        pytest.param(
            "import jupyterlab_vram.probe.nvml\nimport gpustat\n" + READ, id="imported after"
        ),
    ],
)
def test_gpustat_replaces_functions_of_pynvml(fake_driver, code):
    subprocess.run([sys.executable, "-c", code], env=fake_driver.environment(), check=True)
