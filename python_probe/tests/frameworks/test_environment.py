"""How the cached environment is made; with no packages, so that it takes seconds."""

from __future__ import annotations

import fcntl
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from . import environment

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not environment.pythons(), reason="There is no Python with venv and ensurepip here."
    ),
]


@pytest.fixture(autouse=True)
def requirements(tmp_path, monkeypatch):
    path = tmp_path / "requirements.txt"
    path.write_text("# nothing\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", path)
    monkeypatch.setattr(environment, "SPACE", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


def test_is_made_once_by_two_and_anew_after_an_interruption(requirements, capfd):
    folder = environment.folder_for(environment.pythons()[0])
    (folder / "lib").mkdir(parents=True)  # what an interrupted run left
    (folder / "lib" / "half").touch()
    with ThreadPoolExecutor() as pool:
        made = [job.result() for job in [pool.submit(environment.ensure) for _ in range(2)]]
    assert made == [folder, folder]
    assert capfd.readouterr().err.count("Installing") == 1
    assert not (folder / "lib" / "half").exists()
    subprocess.run([folder / "bin" / "python", "-m", "pip", "--version"], check=True)

    requirements.write_text("# something else\n")
    with (folder.parent / f"{folder.name}.lock").open("w") as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        environment.ensure()
        assert folder.exists()  # a run in another clone has it
    requirements.write_text("# yet something else\n")
    last = environment.ensure()
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [last]


def test_says_why_it_cannot_be_made(requirements):
    requirements.write_text("./no-such-package\n")
    with pytest.raises(environment.Unavailable, match="Its words are above"):
        environment.ensure()


def test_says_that_the_disk_is_full(monkeypatch):
    monkeypatch.setattr(environment, "SPACE", 1 << 60)
    with pytest.raises(environment.Unavailable, match="XDG_CACHE_HOME"):
        environment.ensure()
