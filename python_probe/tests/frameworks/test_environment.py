"""How a cached environment is made; with no packages, so that it takes seconds."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from .environment import CUDA, Environment, NoPython, Unavailable

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(300)]


def trial(path: Path, *, minors: tuple[int, ...] = CUDA.minors, space: int = 0) -> Environment:
    return Environment("trial", "TRIAL", path, minors, space)


@pytest.fixture
def requirements(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text("# nothing\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


def test_is_made_once_by_two_and_anew_after_an_interruption(requirements, capfd):
    folder = trial(requirements).folder()
    (folder / "lib").mkdir(parents=True)  # what an interrupted run left
    (folder / "lib" / "half").touch()
    both_use_it = Barrier(2, timeout=120)

    def use(_: int) -> Path:
        with trial(requirements).in_use() as python:
            both_use_it.wait()
            return python

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(use, range(2))) == [folder / "bin" / "python"] * 2
    assert capfd.readouterr().err.count("Making") == 1
    assert not (folder / "lib" / "half").exists()
    subprocess.run([folder / "bin" / "python", "-m", "pip", "--version"], check=True)


def test_replaces_those_that_nobody_uses(requirements):
    first = trial(requirements)
    with first.in_use() as python:
        requirements.write_text("# something else\n")
        with trial(requirements).in_use():
            assert python.exists()  # a run in another clone has it
    requirements.write_text("# yet something else\n")
    with trial(requirements).in_use() as last:
        others = [path for path in last.parents[2].iterdir() if path.is_dir()]
        assert others == [last.parents[1]]


def test_says_why_it_cannot_be_made(requirements):
    requirements.write_text("./no-such-package\n")
    with pytest.raises(Unavailable, match="Its words are above"), trial(requirements).in_use():
        pass


def test_says_that_the_disk_is_full(requirements):
    full = trial(requirements, space=1 << 60)
    with pytest.raises(Unavailable, match="XDG_CACHE_HOME"), full.in_use():
        pass


def test_says_which_python_is_missing(requirements):
    with pytest.raises(NoPython, match=r"no Python 3\.99 with venv"):
        trial(requirements, minors=(99,)).base()
