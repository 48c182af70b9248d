"""The simulated GPU as a notebook meets it: every test runs in processes of its own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jupyterlab_vram.simulated.ledger import Ledger

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python_probe"
OLD_PYTHON = os.environ.get("VRAM_TEST_PYTHON38")
"""A Python 3.8, the oldest that a kernel may have."""
GIB = 1 << 30

Run = Callable[..., str]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger")


def start(
    code: str, ledger: Ledger, python: str = sys.executable, **env: str
) -> subprocess.Popen[str]:
    environment = {**os.environ, "VRAM_SIMULATED_LEDGER": str(ledger.path), **env}
    environment["PYTHONPATH"] = str(PACKAGE)
    return subprocess.Popen(
        [python, "-W", "error", "-c", f"from jupyterlab_vram import simulated\n{code}"],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(code: str, ledger: Ledger, **options: str) -> str:
    process = start(code, ledger, **options)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""
    return out.strip()


def test_nothing_is_taken_before_the_first_use(ledger: Ledger) -> None:
    code = (
        "print(simulated.is_initialized(), simulated.device_count(), simulated.memory_allocated(),"
        " simulated.memory_stats(), simulated.context_size())\n"
        "simulated.empty_cache(); input()"
    )
    process = start(code, ledger)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "False 1 0 {} 0"
    assert ledger.held(process.pid, 0) == 0
    process.communicate("\n", timeout=60)


def test_arrays_take_and_return_memory(ledger: Ledger) -> None:
    code = """
gib = 2**30
def show(*more):
    print(*[n / gib for n in (simulated.memory_allocated(), simulated.memory_reserved())], *more)
x = simulated.zeros((1024, 1024, 1024))
assert (x.shape, x.dtype, x.device, x.nbytes) == ((1024,) * 3, "float32", 0, 4 * gib)
show("simulated" in repr(x))
y = simulated.ones(gib, dtype="int8"); z = y
del y; show()
del z; show()
simulated.empty_cache(); show(simulated.max_memory_allocated() / gib)
free, total = simulated.mem_get_info()
print((total - free) / 2**20 - 300 - 4 * 1024)
"""
    assert run(code, ledger).splitlines() == [
        "4.0 4.0 True",
        "5.0 5.0",
        "4.0 5.0",
        "4.0 4.0 5.0",
        "0.0",
    ]


def test_out_of_memory_reads_like_torchs(ledger: Ledger) -> None:
    holder = start("x = simulated.empty(20 << 30, dtype='uint8'); print(); input()", ledger)
    assert holder.stdout is not None
    holder.stdout.readline()
    code = """
small = simulated.empty(1 << 30, dtype='uint8')
try:
    simulated.empty(6 << 30, dtype='uint8')
except RuntimeError as error:
    assert type(error) is simulated.OutOfMemoryError
    print(error)
    print(error.__context__)
print(simulated.memory_stats()['num_ooms'])
"""
    text, context, count = run(code, ledger).splitlines()
    holder.communicate("\n", timeout=60)
    # facts: torch 2.14's text, with another process.
    assert text == (
        "CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 23.62 GiB "
        "of which 2.04 GiB is free. Including non-PyTorch memory, this process has 1.29 GiB memory "
        f"in use. Process {holder.pid} has 20.29 GiB memory in use. Of the allocated memory "
        "1024.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. "
        "If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html"
        "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
    )
    assert context == "None"
    assert count == "1"


def test_a_container_does_not_know_its_own_pid(ledger: Ledger) -> None:
    ledger.set_driver(pid_offset=100_000)
    code = """
try:
    simulated.empty(30 << 30, dtype='uint8')
except simulated.OutOfMemoryError as error:
    print(error)
import os; print(os.getpid())
"""
    text, pid = run(code, ledger).splitlines()
    assert f"Process {int(pid) + 100_000} has 300.00 MiB memory in use." in text
    assert "this process" not in text


def test_its_own_cache_goes_before_it_runs_out(ledger: Ledger) -> None:
    code = """
x = [simulated.empty(4 << 30, dtype='uint8') for _ in range(5)]; del x
y = simulated.empty(20 << 30, dtype='uint8')
print(simulated.memory_reserved() >> 30, simulated.memory_stats()['num_alloc_retries'])
"""
    assert run(code, ledger) == "20 1"


def test_no_room_for_a_context(ledger: Ledger) -> None:
    ledger.add_process(1, 0, ledger.memory(0).free - (100 << 20))
    code = """
try:
    simulated.empty(1)
except simulated.OutOfMemoryError as error:
    print(error, simulated.is_initialized())
"""
    assert run(code, ledger) == "CUDA error: out of memory False"


@pytest.mark.parametrize(
    "end", ["pass", "import os; os._exit(1)", "import os; os.kill(os.getpid(), 9)"]
)
def test_the_end_of_the_process_returns_everything(ledger: Ledger, end: str) -> None:
    process = start(f"x = simulated.empty(1 << 30); {end}", ledger)
    process.communicate(timeout=60)
    assert ledger.memory(0).used == 0


def test_nothing_is_said_when_the_interpreter_ends(ledger: Ledger) -> None:
    # A cycle and a module's attribute: both are collected when half of everything is gone.
    code = "x = simulated.empty(1); x.itself = x; simulated.keep = simulated.empty(1)"
    assert run(code, ledger) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_no_context(ledger: Ledger) -> None:
    code = """
import os, sys
x = simulated.empty(1 << 30, dtype='uint8')
sys.stdout.flush()
if os.fork() == 0:
    print(simulated.is_initialized(), simulated.memory_allocated())
    del x
    simulated.empty_cache()
    try:
        simulated.empty(1)
    except RuntimeError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(simulated.memory_allocated() >> 30)
del x; simulated.empty_cache()
print(simulated.memory_reserved(), simulated.mem_get_info()[1] - simulated.mem_get_info()[0] >> 20)
"""
    first, second, *rest = run(code, ledger).splitlines()
    assert first == "False 0"
    assert second.startswith("Cannot re-initialize the simulated GPU in forked subprocess.")
    assert rest == ["1", "0 300"]


def test_threads_may_drop_arrays_at_any_moment(ledger: Ledger) -> None:
    code = """
import gc, random, threading
def work(seed):
    chance = random.Random(seed); kept = []
    for _ in range(400):
        kept.append(simulated.empty(chance.randrange(1, 1 << 20)))
        ring = simulated.empty(1000); ring.itself = ring; del ring
        if len(kept) > 10: kept.pop(chance.randrange(len(kept)))
gc.set_threshold(5)
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
gc.collect(); simulated.empty_cache()
print(simulated.memory_allocated(), simulated.memory_reserved())
"""
    assert run(code, ledger) == "0 0"


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("1,0", "2 1"),
        ("", ""),
        ("-1", ""),
        ("0,7,1", "1"),
        ("GPU-51000000-0000-4000-8000-000000000002", "2"),
        ("0,0", "1"),
    ],
)
def test_visible_devices(tmp_path: Path, visible: str, uuids: str) -> None:
    ledger = Ledger.create(tmp_path / "two", {"devices": [{"card": "24-gib"}, {"card": "24-gib"}]})
    code = "print(*[simulated.device_uuid(i)[-1] for i in range(simulated.device_count())])"
    assert run(code, ledger, CUDA_VISIBLE_DEVICES=visible) == uuids


def test_devices_are_apart(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "two", {"devices": [{"card": "24-gib"}, {"card": "24-gib"}]})
    code = """
x = simulated.empty(20 << 30, dtype='uint8', device=1)
print(simulated.memory_allocated(0), simulated.memory_allocated(1) >> 30)
print(simulated.context_size(0), simulated.context_size(1) >> 20)
try:
    simulated.empty(1, device=2)
except IndexError as error:
    print(error)
"""
    assert run(code, ledger).splitlines() == [
        "0 20",
        "0 300",
        "This process sees 2 simulated GPUs, and 2 is none of them.",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("-1", "ValueError"),
        ("(2, -3)", "ValueError"),
        ("3, dtype='float7'", "TypeError"),
        ("3, device=-1", "IndexError"),
    ],
)
def test_what_is_no_array(ledger: Ledger, arguments: str, error: str) -> None:
    code = f"try: simulated.empty({arguments})\nexcept {error} as e: print(e)"
    assert len(run(code, ledger)) > 20


def test_an_empty_array_takes_nothing(ledger: Ledger) -> None:
    code = "x = simulated.empty((0, 5)); print(x.nbytes, simulated.is_initialized())"
    assert run(code, ledger) == "0 False"


def test_it_needs_nothing_but_the_standard_library(ledger: Ledger) -> None:
    code = """
import sys
simulated.empty(1)
print({name.partition('.')[0] for name in sys.modules} & {
    'jupyter_server', 'jupyter_client', 'msgspec', 'psutil', 'pynvml', 'traitlets', 'zmq'})
"""
    assert run(code, ledger) == "set()"


def test_its_grammar_is_python_3_8s() -> None:
    for file in (PACKAGE / "jupyterlab_vram" / "simulated").glob("*.py"):
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.frameworks
@pytest.mark.skipif(OLD_PYTHON is None, reason="VRAM_TEST_PYTHON38 names no Python 3.8")
def test_it_runs_on_python_3_8(ledger: Ledger) -> None:
    assert OLD_PYTHON is not None
    code = "x = simulated.empty(1 << 20); print(simulated.memory_allocated())"
    assert run(code, ledger, python=OLD_PYTHON) == str(4 << 20)


def test_everything_says_that_it_is_simulated() -> None:
    from jupyterlab_vram import simulated

    assert "simulated" in (simulated.__doc__ or "").lower()
    for name in simulated.__all__:
        documentation = getattr(simulated, name).__doc__
        assert documentation, name
        assert not re.search(r"\bTODO\b", documentation)


def test_out_of_memory_leaves_no_half_made_array_behind(ledger: Ledger) -> None:
    """Its traceback keeps every frame, where whoever parks the kernel finds the arrays."""
    code = """
import gc
try:
    simulated.empty(1 << 60, dtype="uint8")
except simulated.OutOfMemoryError as error:
    kept = error
made = [a for a in gc.get_objects() if type(a) is simulated.Array]
print([a.storage.nbytes for a in made])
"""
    assert run(code, ledger) == "[]"
