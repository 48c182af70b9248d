import subprocess
import sys

import pytest
from jupyterlab_vram.agent import MESSAGE_TYPE
from jupyterlab_vram.server.app import VramApp
from jupyterlab_vram.simulated.files import ENVIRONMENT


def test_the_operators_manual_names_every_switch():
    text = subprocess.run(
        [
            sys.executable,
            "-c",
            "from jupyterlab_vram.server.app import VramApp;VramApp().print_help(classes=True)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for trait in (
        "source",
        "min_interval",
        "read_limit",
        "read_only",
        "allow_code_in_kernels",
        "allow_end_processes",
        "show_other_users",
        "allow_simulation",
    ):
        assert f"--VramApp.{trait}=" in text


@pytest.fixture
def jp_server_config(jp_server_config):
    jp_server_config["ServerApp"]["jpserver_extensions"]["jupyterlab"] = True
    return jp_server_config


def test_our_messages_are_no_activity_for_server_and_browser(jp_serverapp):
    assert MESSAGE_TYPE in jp_serverapp.kernel_manager.untracked_message_types
    page_config = jp_serverapp.web_app.settings["page_config_data"]
    assert MESSAGE_TYPE in page_config["untracked_message_types"]


def test_it_is_enabled_by_its_name(jp_serverapp):
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyterlab_vram"]
    assert isinstance(app, VramApp)


class TestBrokenLedger:
    @pytest.fixture
    def ledger(self, tmp_path, monkeypatch):
        path = tmp_path / "simulated.ledger"
        path.write_text("no ledger")
        monkeypatch.setenv(ENVIRONMENT, str(path))

    async def test_the_panel_says_so(self, app, ask):
        code, snapshot = await ask("snapshot")
        assert code == 200
        assert snapshot["state"] != "ok"
        assert "is not a ledger" in snapshot["problem"]["text"] + snapshot["problem"]["hint"]
