import json

import pytest
from jupyterlab_vram.simulated.files import ENVIRONMENT
from jupyterlab_vram.simulated.ledger import Ledger
from tornado.httpclient import HTTPClientError


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """The simulated GPU of this test alone."""
    path = tmp_path / "simulated.ledger"
    monkeypatch.setenv(ENVIRONMENT, str(path))
    with Ledger.open(path) as opened:
        yield opened


@pytest.fixture
def traits():
    """VramApp's settings; a test module or class overrides it."""
    return {}


@pytest.fixture
def jp_server_config(traits, ledger):
    return {
        "ServerApp": {"jpserver_extensions": {"jupyterlab_vram": True}},
        "VramApp": {"source": "simulated", **traits},
    }


@pytest.fixture
def app(jp_serverapp, jp_asyncio_loop):
    """The extension, started as a server does it when its loop runs."""
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyterlab_vram"]
    jp_asyncio_loop.run_until_complete(app._start_jupyter_server_extension(jp_serverapp))
    return app


@pytest.fixture
def service(app):
    return app.service


@pytest.fixture
def ask(app, jp_fetch):
    """Ask a route: status and the decoded answer, whatever the status is."""

    async def ask(*path, method="GET", body=None, **kwargs):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if method in ("POST", "PUT") and body is None:
            body = b""
        try:
            response = await jp_fetch("jupyterlab-vram", *path, method=method, body=body, **kwargs)
        except HTTPClientError as error:
            response = error.response
        return response.code, json.loads(response.body)

    return ask


@pytest.fixture
def browser(app, http_server_client, jp_base_url, jp_http_port):
    """Sign in as a browser does: the headers that it then sends, good for reading."""

    async def browser():
        host = {"Host": f"localhost:{jp_http_port}"}
        token = app.serverapp.identity_provider.token
        response = await http_server_client.fetch(
            f"{jp_base_url}api/status?token={token}", headers=host
        )
        sent = response.headers.get_list("Set-Cookie")
        cookie = "; ".join(each.split(";")[0] for each in sent)
        headers = {**host, "Authorization": "", "Cookie": cookie}
        await http_server_client.fetch(f"{jp_base_url}jupyterlab-vram/config", headers=headers)
        return headers

    return browser
