import pytest
from jupyterlab_vram.simulated.files import ENVIRONMENT
from jupyterlab_vram.simulated.ledger import Ledger


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """The simulated GPU of this test alone."""
    path = tmp_path / "simulated.ledger"
    monkeypatch.setenv(ENVIRONMENT, str(path))
    with Ledger.open(path) as opened:
        yield opened
