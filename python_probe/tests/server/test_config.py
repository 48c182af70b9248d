import json
import logging

import pytest
from jupyterlab_vram import __version__, wire
from jupyterlab_vram.server.config import ConfigStore, Refused


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jupyterlab_vram" / "config.json"


async def test_what_is_changed_is_there_after_a_restart(path):
    store = ConfigStore(path)
    assert store.current == wire.Config(version=__version__)
    await store.change(
        wire.Config(version="7", interval=2.0, source="nvml", thresholds=wire.Thresholds(high=0.5))
    )
    again = ConfigStore(path).current
    assert again == store.current
    assert (again.version, again.interval, again.source) == (__version__, 2.0, "nvml")
    assert again.thresholds.high == 0.5
    assert [file.name for file in path.parent.iterdir()] == ["config.json"]


async def test_the_simulated_gpu_is_never_kept(path):
    store = ConfigStore(path)
    await store.change(wire.Config(source="nvidia-smi"))
    await store.change(wire.Config(source="simulated", interval=3.0))
    assert store.current.source == "simulated"
    again = ConfigStore(path).current
    assert (again.source, again.interval) == ("nvidia-smi", 3.0)
    path.write_text(json.dumps({"source": "simulated"}))
    assert ConfigStore(path).current.source == "auto"


async def test_the_operators_source_wins_at_the_start_and_is_not_kept(path):
    await ConfigStore(path).change(wire.Config(source="nvml"))
    store = ConfigStore(path, source="simulated")
    assert store.current.source == "simulated"
    await store.change(wire.Config(source="simulated", interval=4.0))
    assert ConfigStore(path).current.source == "nvml"
    await store.change(wire.Config(source="auto"))
    assert ConfigStore(path).current.source == "auto"


async def test_ceilings(path):
    await ConfigStore(path).change(wire.Config(interval=0.5))
    store = ConfigStore(path, min_interval=2.0, allow_simulation=False)
    assert store.current.interval == 2.0
    with pytest.raises(Refused, match="no interval below 2 s"):
        await store.change(wire.Config(interval=1.0))
    with pytest.raises(Refused, match="simulated"):
        await store.change(wire.Config(interval=2.0, source="simulated"))
    assert (store.current.interval, store.current.source) == (2.0, "auto")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"interval": 0}', b'{"interval": "1"}', b'{"x": 1}', b"\xff\xfe", b"\0"],
)
async def test_a_broken_file_is_logged_once_and_replaced_by_the_next_change(path, content, caplog):
    path.parent.mkdir()
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        store = ConfigStore(path)
    assert store.current == wire.Config(version=__version__)
    assert len(caplog.records) == 1
    assert path.read_bytes() == content
    await store.change(wire.Config(interval=2.0))
    assert ConfigStore(path).current.interval == 2.0


async def test_settings_act_where_they_cannot_be_kept(path, caplog):
    path.parent.write_text("a file where the folder should be")
    store = ConfigStore(path)
    await store.change(wire.Config(interval=2.0))
    assert store.current.interval == 2.0
    assert "until the server stops" in caplog.text
