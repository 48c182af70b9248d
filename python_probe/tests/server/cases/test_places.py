"""A kernel restarted on another GPU, on a slice, or on the CPU, as the real CUDA build of PyTorch
sees it."""

import pytest
from case_user import CONTEXT, MIB, TORCH

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(120)]

SEES = "[torch.cuda.is_available(), torch.cuda.device_count()]"


async def moved(user, place):
    """Restart there; gives the report's step."""
    report = await user.free({"id": "restart", "place": place})
    (step,) = report["steps"]
    assert step["ok"], step
    await user.ready()
    await user.cell(TORCH)
    return step


@pytest.mark.parametrize("machine", ["eight", "mig"])
async def test_pytorch_sees_only_the_chosen_place(open_notebook, own_driver, ask, machine):
    own_driver.load(machine)
    gpus = [device.uuid for device in own_driver.ledger.state().devices]
    where = len(gpus) - 1
    user = await open_notebook()
    await user.cell("x = take(100)")
    step = await moved(user, gpus[where])
    assert step["freed"] == 100 * MIB + CONTEXT
    assert await user.value(SEES) == [True, 1]
    await user.cell("x = take(200)")
    assert own_driver.ledger.held(user.pid, where) == 200 * MIB + CONTEXT
    row = await user.seen()
    assert (row["place"], list(row["gpus"])) == (gpus[where], [gpus[where]])

    await moved(user, "cpu")
    assert await user.value(SEES) == [False, 0]
    assert (await user.seen())["place"] == "cpu"
    assert "GPU" in (await user.run("take(1)"))["evalue"]
