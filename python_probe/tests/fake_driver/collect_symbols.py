"""Write symbols/*.txt anew, for another version of PyTorch: ``python collect_symbols.py VENV``.

A list holds the functions that one of NVIDIA's libraries exports and that PyTorch imports (for the
runtime, all that it exports), after the version that their symbols have, if any. The build makes
the simulated driver's stand-ins from the lists alone, so that it needs neither NVIDIA's libraries
nor PyTorch.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "symbols"
IMPORTERS = ("libtorch_cuda", "libtorch_cuda_linalg", "libtorch_python", "libtorch_cpu")
RUNTIME = "cu13/lib/libcudart.so.13"
MATHS = (
    "cu13/lib/libcublas.so.13",
    "cu13/lib/libcublasLt.so.13",
    "cu13/lib/libcufft.so.12",
    "cu13/lib/libcusolver.so.12",
    "cu13/lib/libcusparse.so.12",
    "cudnn/lib/libcudnn.so.9",
    "cusparselt/lib/libcusparseLt.so.0",
)


def symbols(library: Path, kind: str) -> dict[str, str]:
    """Names to versions; a name without a version has ""."""
    listing = subprocess.run(
        ["nm", "-D", f"--{kind}-only", library], capture_output=True, text=True, check=True
    ).stdout
    pairs = (line.split()[-1].partition("@") for line in listing.splitlines())
    return {name: version.lstrip("@") for name, _, version in pairs}


def main(venv: Path) -> None:
    (packages,) = venv.glob("lib/python3*/site-packages")
    imported: set[str] = set()
    for name in IMPORTERS:
        imported |= symbols(packages / "torch" / "lib" / f"{name}.so", "undefined").keys()
    for path in (RUNTIME, *MATHS):
        exported = symbols(packages / "nvidia" / path, "defined")
        wanted = exported if path == RUNTIME else exported.keys() & imported
        # The version itself is listed as a symbol without one.
        versioned = sorted(name for name in wanted if exported[name])
        versions = {exported[name] for name in versioned}
        assert len(versions) <= 1, f"{path} has several symbol versions: {versions}"
        lines = [f"# version {versions.pop()}", *versioned] if versioned else sorted(wanted)
        (FOLDER / f"{Path(path).name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{Path(path).name}: {len(versioned or wanted)} functions")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
