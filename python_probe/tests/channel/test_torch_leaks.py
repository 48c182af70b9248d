"""What keeps GPU memory in notebooks with PyTorch, and what gives it back.

The real CUDA build on the simulated driver. For each leak: what the scan predicts, what the remedy
returns by torch's account and by the driver's, and what is said of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from jupyterlab_vram.kernels.answers import Figures, RemedyDone, Scan
from stories import MIB, Story, Tell

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(300)]

EMPTY = 300 + 2
"""MiB of a kernel in which nothing is left: the context, and the segment of the small tensors."""
SETUP = """
import gc, sys, torch; gc.disable()
def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
class Box:
    def __init__(self, **fields): self.__dict__.update(fields)
small = torch.zeros(1, device="cuda")
"""


@dataclass
class Leak:
    """Cells that keep memory, and the remedies in turn: what each returns, in MiB by torch's and
    by the driver's account, and what it says."""

    cells: list[str]
    steps: list[tuple[str, int, str | None]]
    after: str = ""
    """A cell that lets go of what no remedy may touch."""


def delete(*names: str) -> str:
    return "delete " + " ".join(names)


FAILS = "def train():\n    batch = take({0})\n    raise {1}\n"
OUT_OF_MEMORY = "def big():\n    one, two = take(5 << 10), take(5 << 10)\n    take(30 << 10)\nbig()"

ERRORS = {
    "an error keeps the variables of its functions": Leak(
        [FAILS.format(64, "ValueError('boom')") + "train()", "gc.collect();"],
        [("unpin-exceptions", 64, None)],
    ),
    "so does every error that it was raised from, however often the cell is run": Leak(
        [
            (
                "def inner():\n    batch = take(2048)\n    raise ValueError('inner')\n"
                "def outer():\n    try: inner()\n    except ValueError: raise RuntimeError('outer')"
            ),
            *["outer()"] * 5,
            "gc.collect();",
        ],
        [("unpin-exceptions", 2048, None)],
    ),
    "running out of memory keeps what there was": Leak(
        [OUT_OF_MEMORY], [("unpin-exceptions", 10 << 10, None)]
    ),
    "running out of memory in a backward pass keeps the graph": Leak(
        [
            (
                "class Large(torch.autograd.Function):\n"
                "    @staticmethod\n"
                "    def forward(ctx, x):\n"
                "        ctx.save_for_backward(x.clone())\n"
                "        return x * 1\n"
                "    @staticmethod\n"
                "    def backward(ctx, grad):\n"
                "        (saved,) = ctx.saved_tensors\n"
                "        return take(30 << 10)\n"
                "def step():\n"
                "    x = torch.zeros(32 << 18, device='cuda', requires_grad=True)\n"
                "    loss = Large.apply(x).sum()\n"
                "    loss.backward()\n"
                "step()"
            )
        ],
        [("unpin-exceptions", 64, None)],
    ),
    "so does an interrupt": Leak(
        [FAILS.format(20 << 10, "KeyboardInterrupt()") + "train()"],
        [("unpin-exceptions", 20 << 10, None)],
    ),
    "an error that another has followed is garbage": Leak(
        [FAILS.format(20 << 10, "KeyboardInterrupt()") + "train()", "take(8 << 10)"],
        [("collect", 20 << 10, None), ("unpin-exceptions", 0, None)],
    ),
    "an error about a model keeps the model": Leak(
        ["net = torch.nn.Linear(4096, 4096, bias=False, device='cuda')", "net.wieght", "del net"],
        [("unpin-exceptions", 64, "IPython has forgotten it")],
    ),
    "an error that the user keeps is the user's": Leak(
        [FAILS.format(64, "ValueError('boom')") + "try: train()\nexcept ValueError as e: err = e"],
        [("unpin-exceptions", 0, None), (delete("err"), 64, None)],
    ),
}

OUTPUTS = {
    "an output keeps what it showed, whatever is deleted by hand": Leak(
        ["a = take(64)", "a", "del a, _, Out[max(Out)]", "gc.collect();"],
        [("collect", 0, None), ("unpin-outputs", 64, None)],
    ),
    "a model that was shown": Leak(
        ["torch.nn.Linear(4096, 4096, bias=False, device='cuda')", "1;", "2"],
        [("unpin-outputs", 64, None)],
    ),
    "a list in an output": Leak(["[take(64), 'and more']"], [("unpin-outputs", 64, None)]),
}

VARIABLES = {
    "emptying the cache before deleting returns nothing": Leak(
        ["x = take(64)"], [("release-cache", 0, None), (delete("x"), 64, None)]
    ),
    "a cycle waits for the collector": Leak(
        ["n = Box(t=take(64)); n.me = n", "del n"], [("collect", 64, None)]
    ),
    "a view keeps the whole storage": Leak(
        ["x = take(64); v = x[:1]"],
        [(delete("x"), 0, "x referred to is still referred to by v."), (delete("v"), 64, None)],
    ),
    "an optimizer keeps the model": Leak(
        [
            (
                "model = torch.nn.Linear(4096, 4096, bias=False, device='cuda')\n"
                "optimizer = torch.optim.Adam(model.parameters())\n"
                "for p in model.parameters(): p.grad = torch.zeros_like(p)\n"
                "optimizer.step(); del p"
            )
        ],
        [
            (delete("model"), 0, "model referred to is still referred to by optimizer."),
            (delete("optimizer"), 256, None),
        ],
    ),
    "a trainer and its accelerator refer to each other": Leak(
        [
            (
                "model = torch.nn.Linear(4096, 4096, bias=False, device='cuda')\n"
                "trainer = Box(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=1))\n"
                "accelerator = Box(models=[model], trainer=trainer)\n"
                "trainer.accelerator = accelerator; trainer.callbacks = [lambda: trainer.model]"
            )
        ],
        [
            (delete("model"), 0, "model referred to is still referred to by trainer, accelerator."),
            (delete("trainer", "accelerator"), 64, None),
        ],
    ),
    "a closure": Leak(
        ["def make():\n    t = take(64)\n    return lambda: t.numel()\ng = make()"],
        [("collect", 0, None), (delete("g"), 64, None)],
    ),
    "a generator that waits": Leak(
        ["def gen():\n    t = take(64)\n    yield 1\ng = gen(); next(g);"],
        [("collect", 0, None), (delete("g"), 64, None)],
    ),
    "a function's cache": Leak(
        ["import functools\n@functools.lru_cache\ndef cached(): return take(64)\ncached();"],
        [("collect", 0, None), (delete("cached"), 64, None)],
    ),
    "a hook's list": Leak(
        [
            (
                "net = torch.nn.Identity(); keep = []\n"
                "net.register_forward_hook(lambda a, b, out: keep.append(out)); net(take(64));"
            )
        ],
        [(delete("net"), 0, None), (delete("keep"), 64, None)],
    ),
    "losses keep their graphs": Leak(
        [
            (
                "w = torch.zeros(16 << 18, device='cuda', requires_grad=True)\n"
                "losses = [(w * 2).exp().sum() for _ in range(3)]"
            )
        ],
        [(delete("losses"), 48, None), (delete("w"), 16, None)],
    ),
    "a thread that runs": Leak(
        [
            (
                "import threading; stop = threading.Event(); ready = threading.Event()\n"
                "def work():\n    t = take(64); ready.set(); stop.wait()\n"
                "thread = threading.Thread(target=work); thread.start(); ready.wait();"
            )
        ],
        [("collect", 0, None), (delete("work"), 0, None)],
        after="stop.set(); thread.join()",
    ),
    "a task that waits": Leak(
        [
            (
                "import asyncio\n"
                "async def job():\n    t = take(64); await asyncio.sleep(1000)\n"
                "task = asyncio.get_running_loop().create_task(job()); await asyncio.sleep(.1)"
            )
        ],
        [("collect", 0, None), (delete("job"), 0, None)],
        after="task.cancel(); await asyncio.sleep(.1); del task",
    ),
}


@pytest.mark.parametrize(
    "leaks", [ERRORS, OUTPUTS, VARIABLES], ids=["errors", "outputs", "variables"]
)
async def test_what_was_predicted_comes_back(tell: Tell, leaks: dict[str, Leak]) -> None:
    story = await tell("torch", SETUP, kernel="torch")
    for what, leak in leaks.items():
        for cell in leak.cells:
            await story.notebook.run(cell)
        for step, mib, text in leak.steps:
            await compare(story, what, step, mib, text)
        if leak.after:
            await story.notebook.run(leak.after)
            await story.run("collect", "release-cache")
        assert story.held() == EMPTY, what


async def compare(story: Story, what: str, step: str, mib: int, text: str | None) -> None:
    op, *names = step.split()
    predicted, sure = await prediction(story, op, names)
    arguments: dict[str, Any] = {"names": names} if names else {}
    done = await story.channel.remedy(story.notebook.kernel_id, op, **arguments)  # type: ignore[arg-type]
    assert isinstance(done, RemedyDone) and done.ok, (what, done)
    if op == "collect":
        await story.run("release-cache")
    before, after = (figures["torch"].total().live or 0 for figures in (done.before, done.after))
    assert (before - after) // MIB == mib, (what, step)
    # All that is no tensor's is the driver's again, but for the rest.
    assert abs(story.held() - after // MIB - EMPTY) <= 1, (what, step)
    if text is None:
        assert op != "unpin-exceptions" or done.text is None or mib == 0, (what, done.text)
    else:
        assert text in str(done.text), what
    if predicted is not None:
        assert mib <= predicted + 1, (what, step)
        assert not sure or abs(predicted - mib) <= 1, (what, step)


async def prediction(story: Story, op: str, names: list[str]) -> tuple[int | None, bool]:
    """MiB that the scan expects of it, and whether it is sure."""
    scan = await story.channel.scan(story.notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan
    if names:
        # A variable's rows all tell what the variable returns.
        gains = {row.gain for row in scan.rows if row.name in names}
        if len(names) > 1 or None in gains:
            return None, False
        [only] = gains or {0}
        return (only or 0) // MIB, True
    if op not in scan.gains:
        return None, False
    gain = scan.gains[op]
    return (None if gain.bytes is None else gain.bytes // MIB), gain.is_ == "exact"


async def test_the_context_stays_and_the_peak_is_no_use(tell: Tell) -> None:
    story = await tell("torch", SETUP, "x = take(1160); y = take(1000); del y", kernel="torch")
    assert story.held() == 2160 + EMPTY
    await story.run("delete", names=["x"])
    figures = await story.channel.figures(story.notebook.kernel_id)
    assert isinstance(figures, Figures)
    total = figures.frameworks["torch"].total()
    assert (total.live, story.held()) == (512, EMPTY)
    # What was once in use is another figure, and looking doesn't change it.
    assert total.peak == await story.notebook.evaluate("torch.cuda.max_memory_allocated()")
    assert total.peak == 2160 * MIB + 512
    assert (await story.run("collect", "release-cache")).driver == 0


async def test_after_an_interrupt_the_same_cell_fits_again(tell: Tell) -> None:
    story = await tell("torch", SETUP, kernel="torch")
    cell = "def f(stop):\n    t = take(16 << 10)\n    if stop: raise KeyboardInterrupt\nf({0})"
    assert (await story.notebook.run(cell.format(True)))["status"] == "error"
    smaller = "x = take(8 << 10)"
    assert "CUDA out of memory" in (await story.notebook.run(smaller))["evalue"]
    await story.run("unpin-exceptions")
    assert (await story.notebook.run(smaller))["status"] == "ok"
