"""Build the simulated driver with gcc alone: ``python -m fake_driver.build`` prints its folder.

The libraries land in build/<hash of everything that goes into them>, complete or not at all, so
that a second build costs a few milliseconds and concurrent ones don't meet.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jupyterlab_vram.simulated import layout
from jupyterlab_vram.simulated.files import ENVIRONMENT

from . import stubs

HERE = Path(__file__).parent
SOURCES = HERE / "src"
FLAGS = ("-O1", "-g", "-std=gnu17", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden")


class NoCompiler(Exception):
    """gcc is missing."""


@dataclass(frozen=True)
class Driver:
    """The built libraries, as ``folder``."""

    folder: Path

    @property
    def nvml(self) -> Path:
        return self.folder / "libnvidia-ml.so.1"

    @property
    def nvidia_smi(self) -> Path:
        return self.folder / "bin" / "nvidia-smi"

    def preloads(self) -> list[Path]:
        """What must be loaded before PyTorch, which would find NVIDIA's own libraries by RPATH."""
        names = ("libcuda.so.1", stubs.RUNTIME, *stubs.MATHS)
        return [self.folder / name for name in names]

    def environment(self, ledger: Path, *, preload: bool = False) -> dict[str, str]:
        """Variables for a process that is to see the simulated driver, to be put over its own.

        Programs that open the driver's libraries by name (nvidia-ml-py, numba) need no
        ``preload``; PyTorch does.
        """
        variables = {
            ENVIRONMENT: str(ledger),
            "LD_LIBRARY_PATH": _before(self.folder, "LD_LIBRARY_PATH"),
            "PATH": _before(self.nvidia_smi.parent, "PATH"),
        }
        if preload:
            variables["LD_PRELOAD"] = ":".join(map(str, self.preloads()))
        return variables


def _before(folder: Path, variable: str) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))


def build() -> Driver:
    """The simulated driver, built if it isn't yet.

    Raises NoCompiler, and subprocess.CalledProcessError with gcc's words if it fails.
    """
    gcc = shutil.which("gcc")
    if not gcc:
        raise NoCompiler(
            "The simulated driver is built with gcc, which is not installed here"
            " (Debian, Ubuntu: apt install gcc libc6-dev)."
        )
    folder = HERE / "build" / _fingerprint(gcc)
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="tmp-"))
        try:
            _compile(gcc, scratch / "driver", scratch / "objects")
            (scratch / "driver").rename(folder)
        except OSError:
            if not folder.exists():  # Otherwise somebody else has just built the same.
                raise
        finally:
            shutil.rmtree(scratch)
    return Driver(folder)


def _fingerprint(gcc: str) -> str:
    parts = [layout.header().encode(), " ".join(FLAGS).encode(), sys.executable.encode()]
    parts += [subprocess.run([gcc, "--version"], capture_output=True, check=True).stdout]
    files = [*SOURCES.iterdir(), *stubs.SYMBOLS.iterdir(), *HERE.glob("*.py")]
    parts += [path.name.encode() + path.read_bytes() for path in sorted(files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _compile(gcc: str, folder: Path, objects: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    objects.mkdir()
    (objects / "ledger_layout.h").write_text(layout.header())
    runtime = sorted(SOURCES.glob("cudart*.c"))
    (objects / "rest.c").write_text(stubs.runtime_rest())
    (objects / "runtime.map").write_text(stubs.version_script(stubs.listed(stubs.RUNTIME)[1]))

    def library(name: str, sources: list[Path], *options: str) -> None:
        command = [gcc, *FLAGS, "-shared", f"-I{SOURCES}", f"-I{objects}", f"-Wl,-soname,{name}"]
        command += ["-o", str(folder / name), *map(str, sources), *options, "-lpthread"]
        subprocess.run(command, check=True, capture_output=True, text=True)

    ledger = SOURCES / "ledger.c"
    library("libnvidia-ml.so.1", [*sorted(SOURCES.glob("nvml*.c")), ledger])
    driver = [*sorted(SOURCES.glob("sim_*.c")), SOURCES / "cuda.c", SOURCES / "cuda_work.c"]
    library("libcuda.so.1", [*driver, ledger], "-ldl")
    library(
        stubs.RUNTIME,
        [*runtime, objects / "rest.c", ledger],
        f"-Wl,--version-script={objects / 'runtime.map'}",
        f"-L{folder}",
        "-l:libcuda.so.1",
        "-Wl,-rpath,$ORIGIN",
    )
    for name in stubs.MATHS:
        source = objects / f"{name}.c"
        source.write_text(stubs.maths(name))
        _, version = stubs.listed(name)
        options = ["-w", "-fvisibility=default"]
        if version:
            script = objects / f"{name}.map"
            script.write_text(stubs.version_script(version))
            options.append(f"-Wl,--version-script={script}")
        library(name, [source], *options)

    tool = folder / "bin" / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "nvidia_smi.py"}" "$@"\n')
    tool.chmod(0o755)


if __name__ == "__main__":
    try:
        print(build().folder)
    except NoCompiler as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr)
