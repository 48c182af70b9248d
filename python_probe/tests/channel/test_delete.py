"""Deleting chosen variables in a real kernel: what goes, what stays, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from channel_user import GENERATIONS
from jupyterlab_vram.kernels.answers import Scan
from jupyterlab_vram.kernels.channel import KernelChannel
from remedied import MIB, sit_down


@GENERATIONS
async def test_a_variable_goes_with_the_outputs_that_are_it(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("41 + 1")
    await kernel.run("x = take(124); number = 42")
    await kernel.run("x")
    await kernel.run("x")
    before = await kernel.notebook.state()
    done = await kernel.remedy("delete", names=["x", "number", "x", "gone"])
    assert (done.ok, done.deleted, done.missing) == (True, ["x", "number"], ["gone"])
    assert (done.text, await kernel.live()) == (None, 0)
    # An output that is the same number is another thing.
    assert await kernel.evaluate("[list(Out.values()), 'x' in globals()]") == [[42], False]
    after = await kernel.notebook.state()
    for name in ("inputs", "count", "history", "modules", "last"):
        assert after[name] == before[name]
    assert set(before["names"]) - set(after["names"]) == {"x", "number", "_4", "_5"}


@GENERATIONS
async def test_what_is_pythons_or_ipythons_stays(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("x = 1; __mine__ = 2; exit = 3")
    await kernel.run("5")
    refused = ["In", "Out", "_", "_3", "_oh", "get_ipython", "quit", "__name__", "__builtins__"]
    done = await kernel.remedy("delete", names=["x", *refused, "exit"])
    assert done.text == (
        "Not deleted, for Python or IPython needs it: In, Out, _, _3, _oh and 4 more."
    )
    assert (done.ok, done.deleted, done.missing) == (False, ["x", "exit"], [])
    assert await kernel.evaluate(f"[name in globals() for name in {refused}]") == [True] * 9
    done = await kernel.remedy("delete", names=["__mine__"])
    assert (done.ok, done.deleted) == (False, [])


STILL = {
    "another name": ("y = x", "y"),
    "a list": ("batches = [1, (x,)]", "batches"),
    "an object's field": ("class T: pass\ntrainer = T(); trainer.model = {'w': x}", "trainer"),
    "an output that has more in it": ("[x]", "Out["),
    "the last error": ("def f(t): 1 / 0\nf(x)", "the last error"),
    "a function's default": ("def step(batch=x): pass", "step"),
}
"""A cell after which something else refers to ``x``, and how that is called."""


@GENERATIONS
async def test_what_still_refers_to_it_is_named_and_stays(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    for what, (cell, label) in STILL.items():
        await kernel.run("x = take(124)")
        await kernel.run(cell)
        done = await kernel.remedy("delete", names=["x"])
        assert (done.ok, done.deleted) == (True, ["x"]), what
        assert done.text is not None
        assert done.text.startswith(f"What x referred to is still referred to by {label}"), what
        assert ("the last error" in done.text) == (label == "the last error"), what
        assert await kernel.live() == 124, what
        if label.isidentifier():
            done = await kernel.remedy("delete", names=[label])
            assert (done.text, await kernel.live()) == (None, 0), what
        else:
            await kernel.remedy("unpin-outputs")
            await kernel.remedy("unpin-exceptions")
            assert await kernel.live() == 0, what


@GENERATIONS
async def test_a_model_and_its_optimizer_are_told_apart(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "class Thing: pass\n"
        "model, optimizer = Thing(), Thing()\n"
        "model.me = model; optimizer.me = optimizer\n"
        "model.weights = [take(100), take(24)]\n"
        "optimizer.weights, optimizer.state = model.weights, take(200)"
    )
    done = await kernel.remedy("delete", names=["model"])
    assert done.text == "What model referred to is still referred to by optimizer."
    assert await kernel.live() == 324
    done = await kernel.remedy("delete", names=["optimizer"])
    assert (done.text, await kernel.live()) == (None, 0)


@GENERATIONS
async def test_objects_that_resist_do_no_harm(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run(
        "called = []\n"
        "def no(*a, **k):\n"
        "    called.append(1)\n"
        "    raise RuntimeError('touched')\n"
        "class Meta(type):\n"
        "    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = no\n"
        "class Bad(metaclass=Meta):\n"
        "    __eq__ = __hash__ = __len__ = __bool__ = __iter__ = __repr__ = no\n"
        "    def __getattr__(self, name): no()\n"
        "    def __del__(self): print('going'); raise ValueError('in __del__')\n"
        "bad = Bad(); bad.array = take(124); other = [Bad()]"
    )
    await kernel.shown("called.clear()")
    done = await kernel.remedy("delete", names=["bad"])
    assert (done.ok, done.text, await kernel.live()) == (True, None, 0)
    assert await kernel.below() == []
    assert await kernel.evaluate("[called, hasattr(sys, 'last_value')]") == [[], False]


@GENERATIONS
async def test_what_the_debuggers_panel_has_listed_goes_too(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    kernel = await sit_down(start, channel, kind)
    await kernel.run("x = take(100)")
    await kernel.run("take(24)")
    listed = await kernel.variables_panel()
    if listed is None:
        pytest.skip("This kernel's environment has no debugpy.")
    assert "x" in listed
    scan = await channel.scan(kernel.notebook.kernel_id)
    assert isinstance(scan, Scan) and [row.gain for row in scan.rows if row.name == "x"] == [
        100 * MIB
    ]
    assert scan.gains["unpin-outputs"].bytes == 24 * MIB
    await kernel.variables_panel()
    assert (await kernel.remedy("delete", names=["x"])).text is None
    assert await kernel.live() == 24
    await kernel.variables_panel()
    await kernel.remedy("unpin-outputs")
    assert await kernel.live() == 0
    listed = await kernel.variables_panel()
    assert listed is not None and "simulated" in listed and "x" not in listed


@pytest.mark.parametrize("names", [None, "x", [1], {"x": 1}])
async def test_only_a_list_of_names_is_understood(
    start: Any, channel: KernelChannel, names: Any
) -> None:
    kernel = await sit_down(start, channel, "now")
    await kernel.run("x = take(124)")
    done = await channel.remedy(kernel.notebook.kernel_id, "delete", names=names)
    assert not done.ok  # type: ignore[union-attr]
    assert "not a list of names" in str(done.text)  # type: ignore[union-attr]
    assert await kernel.live() == 124
