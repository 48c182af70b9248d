"""The cached environment with real CUDA builds, outside the clone: 5.5 GB, made once.

``python -m frameworks.environment`` makes it if need be and prints its Python;
``python -m frameworks.environment COMMAND…`` then runs a command while nobody may replace it, with
that Python in FRAMEWORKS_PYTHON.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "FRAMEWORKS_PYTHON"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
SPACE = 8 << 30
"""Bytes: pip unpacks beside what it installs."""


class Unavailable(Exception):
    """The environment can't be made; the text says why and what to do."""


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "jupyterlab-vram"


def pythons() -> list[Path]:
    """Pythons that there are wheels for: 3.11, which they were tried with, then any from 3.10."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [
        shutil.which("python3.11"),
        *map(str, sorted(pyenv.glob("versions/3.11.*/bin/python"))),
        *(shutil.which(f"python3.{minor}") for minor in (12, 13, 10)),
        shutil.which("python3"),
    ]
    question = "import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info < (3, 15))"
    return [
        Path(candidate)
        for candidate in filter(None, candidates)
        # A pyenv shim is there for every version, and fails for those that aren't chosen.
        if subprocess.run([candidate, "-c", question], capture_output=True).returncode == 0
    ]


def folder_for(python: Path) -> Path:
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + version.encode()).hexdigest()[:12]
    return cache_folder() / f"frameworks-{digest}"


@contextmanager
def held(folder: Path, *, exclusive: bool) -> Iterator[None]:
    """Keep others from changing ``folder`` (shared), or from using it too (exclusive).

    The system drops the lock with the process, so that a run that is killed leaves nothing behind.
    """
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield


def install(python: Path, folder: Path) -> None:
    """Make the environment anew. It counts as made once its marker is written, at the very end.

    Raises Unavailable.
    """
    for old in folder.parent.glob("frameworks-*"):
        if old.is_dir():
            remove_unused(old, folder)
    free = shutil.disk_usage(folder.parent).free
    if free < SPACE:
        raise Unavailable(
            f"The frameworks' environment needs {SPACE >> 30} GiB in {folder.parent}, where "
            f"{free / (1 << 30):.1f} GiB are free. Name another place in XDG_CACHE_HOME."
        )
    print(f"Installing CUDA builds into {folder} (5.5 GB, some minutes) …", file=sys.stderr)
    commands = (
        [str(python), "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "-qq", "-r", str(REQUIREMENTS)],
    )
    for command in commands:
        done = subprocess.run(command, stdout=sys.stderr)
        if done.returncode:
            raise Unavailable(
                f"{' '.join(command)} failed. Its words are above; without the network, or where "
                f"there is no wheel for this system, the frameworks' tests can't run."
            )
    marker(folder).touch()


def remove_unused(old: Path, current: Path) -> None:
    """Two of these would fill a disk: remove one of other requirements that nobody uses now."""
    with Path(f"{old}.lock").open("w") as lock:
        if old != current:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        shutil.rmtree(old)


def marker(folder: Path) -> Path:
    return folder / "complete"


def ensure() -> Path:
    """The environment's folder, made if it isn't there.

    Raises Unavailable.
    """
    found = pythons()
    if not found:
        raise Unavailable(
            "The frameworks' tests need Python 3.10 to 3.14 with venv and ensurepip, and none was "
            "found (Debian, Ubuntu: apt install python3-venv)."
        )
    python = found[0]
    folder = folder_for(python)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not marker(folder).exists():
        with held(folder, exclusive=True):
            if not marker(folder).exists():  # Somebody else may have made it meanwhile.
                install(python, folder)
    return folder


def main(command: list[str]) -> int:
    folder = ensure()
    python = folder / "bin" / "python"
    if not command:
        print(python)
        return 0
    with held(folder, exclusive=False):
        return subprocess.call(command, env={**os.environ, VARIABLE: str(python)})


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unavailable as error:
        sys.exit(str(error))
