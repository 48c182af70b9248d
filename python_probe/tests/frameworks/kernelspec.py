"""A kernel with real CUDA builds on the simulated driver.

``python -m frameworks.kernelspec DATA_FOLDER LEDGER`` writes one for a server whose JUPYTER_PATH
holds the folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from fake_driver.build import Driver, build

from .environment import CUDA

NAME = "vram-frameworks"


def write(
    data: Path,
    python: Path,
    driver: Driver,
    ledger: Path,
    *,
    name: str = NAME,
    preload: bool = True,
) -> str:
    """Write the kernel spec under ``data``/kernels; returns the kernel's name. ``preload`` for
    kernels that use PyTorch."""
    folder = data / "kernels" / name
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "CUDA builds (simulated driver)",
        "language": "python",
        "env": driver.environment(ledger, preload=preload),
    }
    (folder / "kernel.json").write_text(json.dumps(spec, indent=1))
    return name


if __name__ == "__main__":
    if len(sys.argv) != 3 or CUDA.variable not in os.environ:
        sys.exit(f"{__doc__}\nThe environment's Python is taken from {CUDA.variable}.")
    print(write(Path(sys.argv[1]), Path(os.environ[CUDA.variable]), build(), Path(sys.argv[2])))
