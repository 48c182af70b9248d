"""How much host RAM is free for what is parked: the computer's, and within a container's limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from jupyterlab_vram.agent import host_memory
from jupyterlab_vram.agent.host_memory import Limit

GIB = 1 << 30
MEMINFO = "MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:   33554432 kB\n"


def write(root: Path, files: dict[str, str]) -> str:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return str(root)


def group(folder: str, maximum: str, current: int, cache: int = 0) -> dict[str, str]:
    """Version 2's files."""
    return {
        f"sys/fs/cgroup/{folder}/memory.max": f"{maximum}\n",
        f"sys/fs/cgroup/{folder}/memory.current": f"{current}\n",
        f"sys/fs/cgroup/{folder}/memory.stat": f"anon 5\ninactive_file {cache}\n",
    }


def test_the_computers(tmp_path: Path) -> None:
    limits = host_memory.limits(write(tmp_path, {}))
    assert limits == [Limit(32 * GIB, 64 * GIB)]
    assert host_memory.left_after(limits, 16 * GIB) == 0.25
    assert host_memory.left_after(limits, 40 * GIB) == 0


def test_this_computers_are_read() -> None:
    computer = host_memory.limits()[0]
    assert 0 < computer.free <= computer.total


def test_every_group_around_us_counts_and_its_cache_is_free(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/user/kernel\n",
        **group("user/kernel", "max", GIB),
        **group("user", str(8 * GIB), 7 * GIB, cache=2 * GIB),
    }
    limits = host_memory.limits(write(tmp_path, files))
    assert limits == [Limit(32 * GIB, 64 * GIB), Limit(3 * GIB, 8 * GIB)]
    assert host_memory.left_after(limits, 2 * GIB) == 0.125


def test_a_container_that_sees_the_hosts_path(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/docker/abc\n", **group(".", str(4 * GIB), GIB)}
    assert host_memory.limits(write(tmp_path, files))[1] == Limit(3 * GIB, 4 * GIB)


def test_version_1(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory/docker/abc"
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n1:name=systemd:/x\n",
        f"{folder}/memory.limit_in_bytes": str(4 * GIB),
        f"{folder}/memory.usage_in_bytes": str(2 * GIB),
        f"{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n",
    }
    assert host_memory.limits(write(tmp_path, files))[1] == Limit(3 * GIB, 4 * GIB)


@pytest.mark.parametrize("meminfo", [None, "MemTotal: 1 kB\n", "MemAvailable: much\n"])
def test_what_cant_be_read_is_said(tmp_path: Path, meminfo: str | None) -> None:
    root = write(tmp_path, {"proc/meminfo": meminfo or ""})
    if meminfo is None:
        (tmp_path / "proc/meminfo").unlink()
    with pytest.raises(host_memory.Unknown, match="can't be read here"):
        host_memory.limits(root)
