"""A JupyterLab that sees one board of 24 GiB by NVML, and has a kernel with real CUDA builds.

For tests only: it has no token. Reads VRAM_UI_PORT and FRAMEWORKS_PYTHON.
"""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "python_probe" / "tests"))

from fake_driver import boards  # noqa: E402
from fake_driver.build import build  # noqa: E402
from frameworks import kernelspec  # noqa: E402
from frameworks.environment import CUDA  # noqa: E402
from jupyterlab_vram.simulated.ledger import Ledger  # noqa: E402

work = HERE.parent / ".work" / "frameworks"
shutil.rmtree(work, ignore_errors=True)
data, ledger = work / "data", work / "driver.ledger"
data.mkdir(parents=True)
Ledger.create(ledger, boards.ONE).close()
driver = build()
kernelspec.write(data, Path(os.environ[CUDA.variable]), driver, ledger)

# The loader finds the driver's library only if it is told before the process starts.
os.execve(  # noqa: S606
    sys.executable,
    [sys.executable, "-m", "jupyter", "lab", f"--config={HERE / 'jupyter_server_test_config.py'}"],
    {**os.environ, **driver.environment(ledger), "JUPYTER_DATA_DIR": str(data)},
)
