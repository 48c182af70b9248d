"""The wheel that users get: packed once, and installed by pip alone where there is no Node."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
LABEXTENSION = "share/jupyter/labextensions/jupyterlab-vram/"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "-w",
            str(folder),
            str(ROOT),
        ],
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment that got the wheel and JupyterLab by pip."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run(
        [
            str(scripts / "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            str(wheel),
            "jupyterlab>=4.6,<5",
        ],
        check=True,
        env=without_node(scripts),
    )
    return scripts


def without_node(scripts: Path) -> dict[str, str]:
    """The environment of a user: the new environment's programs and the system's, but no Node."""
    path = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not any((Path(folder) / name).exists() for name in ("node", "node.exe", "jlpm"))
    ]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "VIRTUAL_ENV"))}
    return {**kept, "PATH": os.pathsep.join([str(scripts), *path]), "PYTHONNOUSERSITE": "1"}


def test_is_packed_once_and_whole(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    bundles = [name for name in names if name.endswith("/static/style.js")]
    assert len(bundles) == 1
    assert f".data/data/{LABEXTENSION}" in bundles[0]
    for wanted in (
        f"{LABEXTENSION}install.json",
        f"{LABEXTENSION}package.json",
        "etc/jupyter/jupyter_server_config.d/jupyterlab_vram.json",
        "jupyterlab_vram/server/openapi.yaml",
        "jupyterlab_vram/_version.py",
    ):
        assert any(name.endswith(wanted) for name in names), wanted
    assert not [name for name in names if "/tests/" in name or "fake_driver" in name]


def test_installs_without_node(clean: Path) -> None:
    listed = jupyter(clean, "labextension", "list")
    line = next(line for line in listed.splitlines() if "jupyterlab-vram" in line)
    assert "enabled OK" in line
    listed = jupyter(clean, "server", "extension", "list")
    assert "jupyterlab_vram enabled" in listed
    assert re.search(r"jupyterlab_vram [0-9.]+ +OK", listed)


def jupyter(scripts: Path, *arguments: str) -> str:
    """What a Jupyter command prints, without colours."""
    result = subprocess.run(
        [str(scripts / "jupyter"), *arguments],
        env=without_node(scripts),
        check=True,
        capture_output=True,
        text=True,
    )
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)


def test_command_line_works(clean: Path, tmp_path: Path) -> None:
    env = {**without_node(clean), "VRAM_SIMULATED_LEDGER": str(tmp_path / "ledger")}
    result = subprocess.run(
        [str(clean / "jupyter"), "vram", "snapshot", "--json", "--source", "simulated"],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(result.stdout)["source"] == "simulated"


@pytest.fixture
def server(clean: Path, tmp_path: Path) -> Iterator[tuple[str, str]]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    token = secrets.token_hex(16)
    env = {
        **without_node(clean),
        "VRAM_SIMULATED_LEDGER": str(tmp_path / "ledger"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }
    process = subprocess.Popen(
        [
            str(clean / "jupyter"),
            "lab",
            "--no-browser",
            "--allow-root",
            f"--ServerApp.port={port}",
            "--ServerApp.ip=127.0.0.1",
            f"--IdentityProvider.token={token}",
            f"--ServerApp.root_dir={tmp_path}",
            "--VramApp.source=simulated",
        ],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}", token
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_serves_a_reading_and_the_browser_part(server: tuple[str, str]) -> None:
    base, token = server
    snapshot = json.loads(fetch(f"{base}/jupyterlab-vram/snapshot", token, patience=60))
    assert (snapshot["type"], snapshot["source"], snapshot["state"]) == (
        "snapshot",
        "simulated",
        "ok",
    )
    page = fetch(f"{base}/lab", token).decode()
    assert "jupyterlab-vram" in page


def fetch(url: str, token: str, patience: float = 20) -> bytes:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    deadline = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
