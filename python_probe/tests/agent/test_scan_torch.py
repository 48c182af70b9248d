"""Who holds torch's memory: the CUDA build as it is, on the simulated driver in C."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from fake_driver import boards
from jupyterlab_vram.simulated.ledger import Ledger
from notebook_user import MIB, Child

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(300)]

TORCH = """
import torch
from torch import nn

def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")

def layer(mib):
    "Weights of so many MiB, and no bias."
    return nn.Linear(1024, mib << 8, bias=False, device="cuda")
"""


@pytest.fixture(scope="module")
def torch_child(built_driver: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    python = os.environ.get("FRAMEWORKS_PYTHON")
    if python is None:
        pytest.skip("FRAMEWORKS_PYTHON names no Python: npm run test:frameworks sets one up.")
    with Ledger.create(tmp_path_factory.mktemp("gpu") / "ledger", boards.ONE) as ledger:
        variables = built_driver.environment(ledger.path, preload=True)
        child = Child(python, TORCH, **variables, PRELOAD="torch")
        yield child
        child.close()


def rows(scan: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Label and kind to MiB; what is below 1 MiB is left out."""
    return {
        (row["label"], row["kind"]): row["bytes"] / MIB
        for row in scan["rows"]
        if row["bytes"] >= MIB
    }


TRAINING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.layers = layer(12), nn.ModuleList([layer(14)])
        self.cache = [take(16)]

class Trainer: pass

model = Net()
optimizer = torch.optim.Adam(model.parameters())
for weight in model.parameters():
    weight.grad = torch.zeros_like(weight)
optimizer.step()
weight = model.encoder.weight
parameters = list(model.parameters())
trainer = Trainer()
trainer.model, trainer.step = layer(18), 3
best = {name: value.clone() for name, value in model.state_dict().items()}
"""

FAILING = """
def train_step(model):
    batch, masks = take(12), [take(14), take(14)]
    raise torch.OutOfMemoryError('CUDA out of memory.')
"""

SPARSE = """
indices = torch.zeros(2, 1 << 20, dtype=torch.long, device='cuda')
s = torch.sparse_coo_tensor(indices, take(1), (9, 9), check_invariants=False)
del indices
"""


def test_models_and_what_training_leaves(torch_child: Child) -> None:
    answer = torch_child.run([TRAINING], ("scan", {}))
    assert answer["errors"] == []
    (scan,) = answer["answers"]
    assert rows(scan) == {
        ("model", "Net"): 42,
        ("model", "gradients"): 26,
        ("optimizer", "optimizer state"): 52,
        ("trainer.model", "Linear"): 18,
        ("best", "dict"): 26,
    }
    assert scan["models"] == 1
    gains = {row["label"]: row["gain"] / MIB for row in scan["rows"]}
    # The weights are the optimizer's and the list's, too; the cache is the model's alone.
    assert gains["model"] == 16
    assert round(gains["optimizer"]) == 52
    assert scan["gains"]["delete"]["is"] == "exact"
    assert scan["found"] == answer["live"][0]


def test_without_its_model_the_optimizer_has_the_weights(torch_child: Child) -> None:
    cells = ["model = layer(12)\noptimizer = torch.optim.SGD(model.parameters())\ndel model"]
    answer = torch_child.run(cells, ("scan", {}), ("delete", {"names": ["optimizer"]}))
    (scan, _), live = answer["answers"], answer["live"]
    assert rows(scan) == {("optimizer", "parameters"): 12}
    assert scan["rows"][0]["gain"] == live[1] - live[2] == 12 * MIB


@pytest.mark.parametrize(
    ("cell", "label", "gain"),
    [
        ("x = take(12)", "x", 12),
        ("v = take(12)[:10]", "v", 12),
        ("x = take(12)\nv = x[:10]", "x", 0),
        ("x = nn.Parameter(take(12).float()[: 3 << 20])", "x", 48),
        ("cfg = {'teacher': layer(12)}", 'cfg["teacher"]', 12),
        ("x = take(12)\nx.note = take(14)", "x.note", 26),
        ("s = take(12).untyped_storage()", "s", 12),
        (SPARSE, "s", 17),
    ],
)
def test_kinds_of_tensors(torch_child: Child, cell: str, label: str, gain: int) -> None:
    name = label.partition(".")[0].partition("[")[0]
    answer = torch_child.run([cell], ("scan", {}), ("delete", {"names": [name]}))
    (scan, _), live = answer["answers"], answer["live"]
    row = {row["label"]: row for row in scan["rows"]}[label]
    assert row["gain"] == live[1] - live[2] == gain * MIB
    assert scan["gains"]["delete"]["is"] == "exact"
    assert scan["found"] == live[1]


def test_what_backward_would_need_is_not_promised(torch_child: Child) -> None:
    """The graph keeps tensors in C: ``loss`` has 4 bytes, and more goes with it than is seen."""
    cells = [
        "x = torch.ones(3 << 20, device='cuda', requires_grad=True)",
        "loss = x.exp().exp().sum()",
    ]
    answer = torch_child.run(cells, ("scan", {}), ("delete", {"names": ["loss"]}))
    (scan, _), live = answer["answers"], answer["live"]
    assert rows(scan) == {("x", "Tensor"): 12, ("held by torch itself", "no Python object"): 24}
    by_label = {row["label"]: row for row in scan["rows"]}
    assert by_label["loss"]["gain"] is None
    assert live[1] - live[2] > 24 * MIB
    gain = scan["gains"]["delete"]
    assert gain["is"] == "at-most"
    assert live[1] - live[2] <= gain["bytes"]


def test_an_error_in_a_training_step(torch_child: Child) -> None:
    cells = [FAILING, "model = layer(16)\ntrain_step(model)"]
    answer = torch_child.run(cells, ("scan", {}), ("unpin-exceptions", {}))
    (scan, _), live = answer["answers"], answer["live"]
    assert rows(scan) == {
        ("model", "Linear"): 16,
        ("last error → train_step → batch", "Tensor"): 12,
        ("last error → train_step → masks", "list"): 28,
    }
    assert scan["gains"]["unpin-exceptions"] == {"bytes": 40 * MIB, "is": "exact"}
    assert live[1] - live[2] == 40 * MIB


EXPANDABLE = "torch._C._accelerator_setAllocatorSettings('expandable_segments:True')"
FIVE = "def five():\n    return torch.empty(5 << 20, dtype=torch.uint8, device='cuda')"


@pytest.mark.parametrize(
    ("before", "lost", "said", "returned"),
    [
        # Four of 5 MiB are in one segment, which the driver gets back as a whole.
        (FIVE, "[five() for _ in range(4)]", (20, "exact"), 20),
        (FIVE, "five()", (20, "exact"), 20),
        (FIVE + "\nkeep = [five() for _ in range(3)]", "five()", (5, "at-most"), 0),
        # Of an expandable segment, pages of 20 MiB.
        (EXPANDABLE + "\nkeep = take(30)", "[take(5), take(50)]", (60, "exact"), 60),
        (
            EXPANDABLE + "\nkeep = [take(30)]",
            "[take(5), take(50), keep.append(take(7))]",
            (55, "at-most"),
            40,
        ),
        ("keep = torch.zeros(1, device='cuda')", "take(12)", (12, "exact"), 12),
    ],
)
def test_what_shares_segments_is_promised_only_if_they_come_back(
    torch_child: Child, before: str, lost: str, said: tuple[int, str], returned: int
) -> None:
    reserved = ("evaluate", {"code": "torch.cuda.memory_reserved()"})
    cells = [before, f"def fails():\n    lost = {lost}\n    1 / 0", "fails()"]
    answer = torch_child.run(
        cells, ("release-cache", {}), reserved, ("scan", {}), ("unpin-exceptions", {}), reserved
    )
    _, held, scan, _, left = answer["answers"]
    gain = scan["gains"]["unpin-exceptions"]
    assert (gain["bytes"] / MIB, gain["is"]) == said
    assert (held - left) / MIB == returned


def test_looking_changes_nothing(torch_child: Child) -> None:
    code = "[torch.cuda.max_memory_allocated() - peak, torch.cuda.memory_allocated()]"
    cells = [
        "model = layer(12)\nv = take(14)[:5]",
        "peak = torch.cuda.max_memory_allocated()",
    ]
    answer = torch_child.run(cells, ("scan", {}), ("scan", {}), ("evaluate", {"code": code}))
    assert answer["answers"][2] == [0, 26 * MIB]
    assert answer["answers"][0]["rows"] == answer["answers"][1]["rows"]
