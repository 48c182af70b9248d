"""Cached environments outside the clone, each made once and shared by all clones."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GIB = 1 << 30
HERE = Path(__file__).parent


class Unavailable(Exception):
    """The environment can't be made; the text says why and what to do."""


class NoPython(Unavailable):
    """There is no Python on this machine to make it with."""


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "jupyterlab-vram"


@dataclass(frozen=True)
class Environment:
    """One Python with packages that the project's own environment can't have beside its own."""

    name: str
    """Its folder's, before the hash of what is in it."""
    variable: str
    """Where tests find its Python."""
    requirements: Path
    minors: tuple[int, ...]
    """Versions 3.x that it may be made of, the preferred one first."""
    space: int
    """Bytes needed to make it: pip unpacks beside what it installs."""

    def base(self) -> Path:
        """The Python that it is made of. Raises NoPython."""
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
        candidates: list[str | None] = []
        for minor in self.minors:
            candidates.append(shutil.which(f"python3.{minor}"))
            candidates += map(str, sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python")))
        candidates.append(shutil.which("python3"))
        for candidate in filter(None, candidates):
            if minor_version(candidate) in self.minors:
                return Path(candidate)
        versions = ", ".join(f"3.{minor}" for minor in self.minors)
        raise NoPython(
            f"There is no Python {versions} with venv and ensurepip here "
            f"(Debian, Ubuntu: apt install python3-venv)."
        )

    def folder(self) -> Path:
        """Where it belongs; another one for other requirements and for another Python."""
        version = subprocess.run(
            [self.base(), "-V"], capture_output=True, text=True, check=True
        ).stdout
        digest = hashlib.sha256(self.requirements.read_bytes() + version.encode()).hexdigest()[:12]
        return cache_folder() / f"{self.name}-{digest}"

    @contextmanager
    def in_use(self) -> Iterator[Path]:
        """Its Python, made if it isn't there; nobody replaces it within. Raises Unavailable."""
        folder = self.folder()
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The system drops the lock with the process, so that a run that is killed leaves nothing.
        with lock_file(folder).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            while not marker(folder).exists():
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not marker(folder).exists():  # Somebody else may have made it meanwhile.
                    self._install(folder)
                fcntl.flock(lock, fcntl.LOCK_SH)
            yield folder / "bin" / "python"

    def _install(self, folder: Path) -> None:
        """Make it anew. It counts as made once its marker is written, at the very end."""
        if folder.exists():
            shutil.rmtree(folder)
        for old in folder.parent.glob(f"{self.name}-*"):
            if old.is_dir():
                remove_unused(old)
        free = shutil.disk_usage(folder.parent).free
        if free < self.space:
            raise Unavailable(
                f"The environment {folder.name} needs {self.space / GIB:.0f} GiB in "
                f"{folder.parent}, where {free / GIB:.1f} GiB are free. Name another place in "
                f"XDG_CACHE_HOME."
            )
        print(f"Making the environment {folder}, once …", file=sys.stderr, flush=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        commands = (
            [str(self.base()), "-m", "venv", str(folder)],
            [*pip, "install", "-qq", "-r", str(self.requirements)],
        )
        for command in commands:
            done = subprocess.run(command, stdout=sys.stderr)
            if done.returncode:
                raise Unavailable(
                    f"{' '.join(command)} failed. Its words are above; without the network, or "
                    f"where there is no wheel for this system, these tests can't run."
                )
        marker(folder).touch()


CUDA = Environment(
    "frameworks", "FRAMEWORKS_PYTHON", HERE / "requirements.txt", (11, 12, 13, 10, 14), 8 * GIB
)
"""PyTorch and numba for the simulated driver: 5.5 GB."""

OLD_KERNELS = HERE / "requirements-ipykernel6.txt"
IPYKERNEL_6 = Environment(
    "ipykernel6", "VRAM_TEST_IPYKERNEL6", OLD_KERNELS, (11, 12, 13, 10, 14), GIB
)
PYTHON_3_8 = Environment("python38", "VRAM_TEST_PYTHON38", OLD_KERNELS, (8,), GIB)
PYTHON_3_13 = Environment(
    "python313", "VRAM_TEST_PYTHON313", HERE / "requirements-ipykernel7.txt", (13,), GIB
)

CPU = Environment("cpu", "VRAM_TEST_CPU", HERE / "requirements-cpu.txt", (11, 12, 13, 10), 4 * GIB)
"""TensorFlow, Keras 3 and JAX, built for the CPU: 2.2 GB."""
CPU_OLD = Environment(
    "cpuold", "VRAM_TEST_CPU_OLD", HERE / "requirements-cpu-old.txt", (11, 10, 9), 4 * GIB
)
"""The same with Keras 2, of the end of 2023: 1.8 GB."""


def minor_version(python: str) -> int | None:
    """The x of a Python 3.x that can make environments, else None."""
    code = "import sys, ensurepip, venv; print(sys.version_info[1])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    # A pyenv shim is there for every version, and fails for those that aren't chosen.
    return int(done.stdout) if done.returncode == 0 else None


def remove_unused(old: Path) -> None:
    """One of other requirements, which would fill the disk; kept while somebody uses it."""
    with lock_file(old).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(old)


def lock_file(folder: Path) -> Path:
    return Path(f"{folder}.lock")


def marker(folder: Path) -> Path:
    return folder / "complete"
