"""Notebooks, and for each what a person would expect to be told of it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Notebook:
    name: str
    text: str
    """Cells, with a line %% between them."""
    rows: set[tuple[str, str, int, int, int | None]]
    """Label, where, MiB, how many arrays, and the MiB that deleting the variable gives (None: it
    can't be deleted)."""
    gains: dict[str, int]
    """Remedy to the MiB that it returns; none where it isn't there."""

    @property
    def cells(self) -> list[str]:
        return dedent(self.text).strip().split("\n%%\n")


NOTEBOOKS = [
    Notebook(
        "a variable",
        """
        x = take(12)
        """,
        {
            ("x", "variable", 12, 1, 12),
        },
        {"delete": 12},
    ),
    Notebook(
        "a view counts once",
        """
        x = take(12)
        first = x.view()
        """,
        {
            ("x", "variable", 12, 1, 0),
        },
        {"delete": 12},
    ),
    Notebook(
        "an output and its many names",
        """
        take(12)
        """,
        {
            ("Out[2]", "output", 12, 1, None),
        },
        {"unpin-outputs": 12},
    ),
    Notebook(
        "a shown variable goes with its output",
        """
        x = take(12)
        %%
        x
        """,
        {
            ("x", "variable", 12, 1, 12),
        },
        {"delete": 12},
    ),
    Notebook(
        "an output that was deleted by hand",
        """
        take(12)
        %%
        del Out[2], _2
        %%
        1
        %%
        2
        %%
        3
        """,
        {
            ("_2 (hidden)", "output", 12, 1, None),
        },
        {"unpin-outputs": 12},
    ),
    Notebook(
        "a list of batches",
        """
        batches = [take(12) for _ in range(5)]
        """,
        {
            ("batches", "variable", 60, 5, 60),
        },
        {"delete": 60},
    ),
    Notebook(
        "one of a list",
        """
        batches = [1, 'two', None, take(12)]
        """,
        {
            ("batches[3]", "variable", 12, 1, 12),
        },
        {"delete": 12},
    ),
    Notebook(
        "configuration, named tuple, queue and set",
        """
        import collections
        cfg = {'student': 'cpu', 'teacher': take(12)}
        Pair = collections.namedtuple('Pair', 'left right')
        pair = Pair(take(14), 1)
        queue = collections.deque([0, take(16)])
        seen = {take(18)}
        """,
        {
            ('cfg["teacher"]', "variable", 12, 1, 12),
            ("pair.left", "variable", 14, 1, 14),
            ("queue[1]", "variable", 16, 1, 16),
            ("seen", "variable", 18, 1, 18),
        },
        {"delete": 60},
    ),
    Notebook(
        "a trainer, a dataclass and slots",
        """
        import dataclasses
        class Trainer:
            def __init__(self):
                self.model, self.buffers = take(12), [take(14), take(14)]
        @dataclasses.dataclass
        class State:
            weights: object
            step: int = 0
        class Slotted:
            __slots__ = ('data', 'empty')
        trainer, state, slotted = Trainer(), State(take(16)), Slotted()
        slotted.data = take(18)
        """,
        {
            ("trainer.model", "variable", 12, 1, 40),
            ("state.weights", "variable", 16, 1, 16),
            ("slotted.data", "variable", 18, 1, 18),
            ("trainer.buffers", "variable", 28, 2, 40),
        },
        {"delete": 74},
    ),
    Notebook(
        "the same thing in two places",
        """
        x = take(12)
        class Trainer: pass
        trainer = Trainer()
        trainer.model = x
        """,
        {
            ("x", "variable", 12, 1, 0),
        },
        {"delete": 12},
    ),
    Notebook(
        "a failed cell",
        """
        def train_step(n):
            batch = take(12)
            return n / 0
        %%
        train_step(1)
        """,
        {
            ("last error → train_step → batch", "exception", 12, 1, None),
        },
        {"unpin-exceptions": 12},
    ),
    Notebook(
        "a chain of errors",
        """
        def inner():
            first = take(12)
            1 / 0
        %%
        def outer():
            try:
                inner()
            except ZeroDivisionError as error:
                second = take(14)
                raise ValueError('no') from error
        def outermost():
            try:
                outer()
            except ValueError:
                third = take(16)
                raise KeyError('no')
        %%
        outermost()
        """,
        {
            ("last error → inner → first", "exception", 12, 1, None),
            ("last error → outer → second", "exception", 14, 1, None),
            ("last error → outermost → third", "exception", 16, 1, None),
        },
        {"unpin-exceptions": 42},
    ),
    Notebook(
        "an error that was caught and kept",
        """
        def load():
            weights = take(12)
            1 / 0
        %%
        try:
            load()
        except ZeroDivisionError as error:
            err = error
        """,
        {
            ("err → load → weights", "frame", 12, 1, 12),
        },
        {"delete": 12},
    ),
    Notebook(
        "closures and defaults",
        """
        def make_step():
            batch = take(12)
            def step():
                return batch
            return step
        step = make_step()
        def evaluate(data=take(14), *, labels=take(16)):
            return data
        evaluate.cache = take(18)
        """,
        {
            ("step → batch", "closure", 12, 1, 12),
            ("evaluate → data", "closure", 14, 1, 48),
            ("evaluate → labels", "closure", 16, 1, 48),
            ("evaluate.cache", "variable", 18, 1, 48),
        },
        {"delete": 60},
    ),
    Notebook(
        "a cached function, a partial and a method",
        """
        import functools
        @functools.lru_cache(maxsize=8)
        def embed(n):
            return take(n)
        embed(12); embed(14)
        run = functools.partial(print, take(16))
        class Model:
            def __init__(self):
                self.weights = take(18)
            def forward(self): pass
        hook = Model().forward
        """,
        {
            ("run.args[0]", "variable", 16, 1, 16),
            ("hook.weights", "variable", 18, 1, 18),
            ("embed → its cache", "closure", 26, 2, 26),
        },
        {"delete": 60},
    ),
    Notebook(
        "a generator and a coroutine that wait",
        """
        class Pause:
            def __await__(self):
                yield
        %%
        def loader():
            batch = take(12)
            yield
            print(batch)
        %%
        async def serve():
            model = take(14)
            await Pause()
            print(model)
        %%
        batches, waiting = loader(), serve()
        next(batches)
        waiting.send(None)
        """,
        {
            ("batches → batch", "generator", 12, 1, 12),
            ("waiting → model", "generator", 14, 1, 14),
        },
        {"delete": 26},
    ),
    Notebook(
        "a thread that runs",
        """
        import threading
        begun, end = threading.Event(), threading.Event()
        def work():
            batch = take(12)
            begun.set()
            end.wait()
        thread = threading.Thread(target=work, name='loader', daemon=True)
        thread.start()
        begun.wait();
        """,
        {
            ("thread loader → work → batch", "thread", 12, 1, None),
        },
        {},
    ),
    Notebook(
        "a module's global and a class's attribute",
        """
        import sys, types
        helpers = types.ModuleType('helpers')
        sys.modules['helpers'] = helpers
        helpers.CACHE = {'embeddings': take(12)}
        del helpers
        class Model:
            shared = take(14)
        model = Model()
        """,
        {
            ('helpers.CACHE["embeddings"]', "module", 12, 1, None),
            ("Model.shared", "variable", 14, 1, 0),
        },
        {"delete": 14},
    ),
    Notebook(
        "a cycle",
        """
        class Ring: pass
        ring = Ring()
        ring.itself, ring.data = ring, take(12)
        del ring
        """,
        {
            ("garbage in reference cycles", "unknown", 12, 1, None),
        },
        {"collect": 12},
    ),
    Notebook(
        "everything at once",
        """
        import gc; gc.disable()
        x = take(12)
        %%
        take(14)
        %%
        class Ring: pass
        ring = Ring(); ring.me, ring.data = ring, take(16); del ring
        %%
        def fail():
            lost = take(18)
            raise RuntimeError('CUDA out of memory.')
        fail()
        %%
        keep = [x, take(20)]
        """,
        {
            ("x", "variable", 12, 1, 0),
            ("Out[3]", "output", 14, 1, None),
            ("garbage in reference cycles", "unknown", 16, 1, None),
            ("last error → fail → lost", "exception", 18, 1, None),
            ("keep[1]", "variable", 20, 1, 20),
        },
        {"collect": 16, "unpin-exceptions": 18, "unpin-outputs": 14, "delete": 32},
    ),
]
