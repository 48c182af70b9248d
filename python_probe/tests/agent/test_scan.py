"""What the scan must not do, and what it says of graphs that nobody thought of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from notebook_user import MIB, Child

HOSTILE = """
calls = []

class Meta(type):
    def __getattribute__(cls, name):
        calls.append(name)
        return super().__getattribute__(name)
    def __instancecheck__(cls, other): calls.append("instance"); return True
    def __subclasscheck__(cls, other): calls.append("subclass"); return True
    def __hash__(cls): calls.append("hash"); raise TypeError
    def __eq__(cls, other): calls.append("eq"); raise TypeError

def angry(name):
    def method(self, *arguments):
        calls.append(name)
        raise RuntimeError(name)
    return method

names = ("__getattribute__ __getattr__ __eq__ __hash__ __len__ __repr__ __str__ __bool__ __iter__ "
         "__getitem__ __contains__ __del__ __setattr__ keys items values").split()
body = {name: angry(name) for name in names}
Hostile = Meta("Hostile", (), dict(body, __class__=property(angry("__class__"))))
Mapping = Meta("Mapping", (dict,), dict(body))
Items = Meta("Items", (list,), dict(body))
Text = type("Text", (str,), {"__eq__": angry("text eq"), "__hash__": str.__hash__,
                             "__str__": angry("text str"), "__repr__": angry("text repr")})

hostile = object.__new__(Hostile)
mapping, items = dict.__new__(Mapping), list.__new__(Items)
object.__setattr__(hostile, "weights", take(12))
dict.__setitem__(mapping, "weights", take(14))
list.append(items, take(16))
named = {Text("weights"): take(18)}
keyed = {Meta("Key", (), {})(): take(20)}
calls.clear()
"""


def scan_of(child: Child, *cells: str) -> dict[str, Any]:
    return dict(child.run(cells, ("scan", {}))["answers"][0])


def labels(scan: dict[str, Any]) -> list[str]:
    return [row["label"] for row in scan["rows"]]


def test_no_code_of_the_users_runs(child: Child) -> None:
    answer = child.run([HOSTILE], ("scan", {}), ("evaluate", {"code": "calls"}), ("scan", {}))
    scan, calls, _ = answer["answers"]
    assert set(labels(scan)) == {
        *("hostile.weights", 'mapping["weights"]', "items[0]", "named[…]", "keyed[…]")
    }
    assert calls == []


def test_what_is_no_name_for_a_message_is_shown_and_not_to_be_deleted(child: Child) -> None:
    scan = scan_of(
        child,
        "class Text(str): pass\n"
        "globals().update({5: take(12), '\\ud800': take(14), Text('weights'): take(16)})\n"
        "table = {10 ** 5000: take(18)}",
    )
    named = {row["label"]: row["name"] for row in scan["rows"]}
    assert named == {
        "globals()[5]": None,
        'globals()["?"]': None,
        "weights": "weights",
        "table[…]": "table",
    }
    assert scan["gains"]["delete"] == {"bytes": 34 * MIB, "is": "exact"}
    assert scan["variables"] == 5


def test_names_are_shown_as_text(child: Child) -> None:
    name = "x" * 200 + "\\u202e\\n<b>"
    scan = scan_of(child, f"globals()['{name}'] = take(12); settings = {{'{name}': take(14)}}")
    for label in labels(scan):
        assert len(label) < 80
        assert label.isprintable()


def test_frozen_objects_are_found(child: Child) -> None:
    scan = scan_of(
        child,
        "import gc\nbatches, objects = [take(12), take(14)], [[] for _ in range(10_000)]",
        "gc.freeze()",
        "later = {'weights': take(16)}\nbatches.append(take(18))",
    )
    assert set(labels(scan)) == {"batches", 'later["weights"]'}
    assert scan["complete"]


def test_a_snapshot_of_locals_is_not_left_behind(child: Child) -> None:
    """Emptying the frames by hand frees what they held, also after the scan has read them."""
    cells = [
        "def load():\n    weights = take(12)\n    1 / 0",
        "try:\n    load()\nexcept ZeroDivisionError as error:\n    err = error",
        "import traceback",
    ]
    answer = child.run(
        cells, ("scan", {}), ("evaluate", {"code": "traceback.clear_frames(err.__traceback__)"})
    )
    assert answer["live"] == [12 * MIB, 12 * MIB, 0]


def test_an_error_that_a_cell_shows_is_an_output(child: Child) -> None:
    load = """
def load():
    weights = take(12)
    try:
        1 / 0
    except ZeroDivisionError as error:
        return error
"""
    cells = [load, "load()"]
    answer = child.run(cells, ("scan", {}), ("unpin-exceptions", {}), ("unpin-outputs", {}))
    scan, exceptions, _ = answer["answers"]
    assert labels(scan) == ["Out[3] → load → weights"]
    assert scan["gains"]["unpin-exceptions"] == {"bytes": 0, "is": "exact"}
    assert scan["gains"]["unpin-outputs"] == {"bytes": 12 * MIB, "is": "exact"}
    assert exceptions["dropped"] == 0
    assert answer["live"] == [12 * MIB, 12 * MIB, 12 * MIB, 0]


def test_the_collectors_state_stays(child: Child) -> None:
    for code, on in (("import gc; gc.disable()", False), ("import gc; gc.enable()", True)):
        answer = child.run([code], ("scan", {}), ("evaluate", {"code": "gc.isenabled()"}))
        assert answer["answers"][1] is on


def test_beyond_its_time_it_says_so(child: Child) -> None:
    answer = child.run(
        ["x = take(12)\nrecords = [[i] for i in range(50_000)]"],
        ("set", {"file": "graph", "name": "SECONDS", "value": 0}),
        ("scan", {}),
    )
    scan = answer["answers"][1]
    assert not scan["complete"]
    assert scan["objects"] < 50_000
    assert scan["found"] == 12 * MIB
    assert all(gain["is"] in ("unknown", "exact") for gain in scan["gains"].values())
    assert labels(scan) == ["not looked through, there are too many objects"]


def test_a_long_chain_has_a_short_name(child: Child) -> None:
    scan = scan_of(
        child,
        "class Node: pass\nhead = take(12)\n"
        "for _ in range(5_000):\n    node = Node(); node.next = head; head = node\ndel node",
    )
    assert labels(scan) == ["head" + ".next" * 6 + "….next"]


def test_at_most_two_hundred_rows(child: Child) -> None:
    scan = scan_of(child, "for i in range(300):\n    globals()[f'x{i}'] = take(1)")
    assert len(scan["rows"]) == 200
    assert scan["found"] == 300 * MIB


# --- graphs at random ---------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    """Objects of several kinds that refer to each other and to arrays, some with names, some
    shown, some forgotten."""
    count = draw(st.integers(1, 7))
    lines = ["class Thing: pass", "things = []"]
    for _ in range(count):
        kind = draw(st.sampled_from(["take(2)", "[]", "{}", "Thing()", "closure()"]))
        lines.append(f"things.append({kind})")
    links = draw(st.lists(st.tuples(*[st.integers(0, count - 1)] * 2), max_size=12))
    lines += [f"link(things[{a}], things[{b}])" for a, b in links]
    # Only the first of a number is its name; the rest are other names for the same.
    names = draw(st.lists(st.integers(0, count - 1), max_size=4))
    lines += [f"v{at} = things[{number}]" for at, number in enumerate(names)]
    shown = draw(st.lists(st.integers(0, count - 1), max_size=2))
    failed = draw(st.none() | st.integers(0, count - 1))
    prelude = (
        "def closure():\n"
        "    held = []\n"
        "    def function():\n"
        "        return held\n"
        "    return function\n"
        "def link(a, b):\n"
        "    if type(a) is list: a.append(b)\n"
        "    elif type(a) is dict: a[len(a)] = b\n"
        "    elif type(a) is Thing: setattr(a, 'part%d' % len(vars(a)), b)\n"
        "    elif callable(a): a().append(b)\n"
        "def fail(held):\n"
        "    raise ValueError\n"
    )
    cells = [prelude, "import gc; gc.disable()", "\n".join(lines)]
    cells += [f"things[{number}]" for number in shown]
    cells += [f"fail(things[{failed}])"] if failed is not None else []
    return [*cells, "del things", "None"] if failed is None else [*cells[:-1], "1", cells[-1]]


@pytest.mark.timeout(300)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cells=programs())
def test_gains_are_what_comes_back(child: Child, cells: list[str]) -> None:
    first = child.run(cells, ("scan", {}), ("collect", {}), ("unpin-outputs", {}))
    scan, live = first["answers"][0], first["live"]
    gains = scan["gains"]
    assert {gain["is"] for gain in gains.values()} == {"exact"}
    assert sum(row["bytes"] for row in scan["rows"]) == scan["found"] == live[0]
    assert live[1] - live[2] == gains["collect"]["bytes"]
    assert live[2] - live[3] == gains["unpin-outputs"]["bytes"]
    done = child.run(cells, ("collect", {}), ("unpin-exceptions", {}))["live"]
    assert done[1] - done[2] == gains["unpin-exceptions"]["bytes"]
    for name in {row["name"] for row in scan["rows"]} - {None}:
        done = child.run(cells, ("collect", {}), ("delete", {"names": [name]}))["live"]
        (gain,) = {row["gain"] for row in scan["rows"] if row["name"] == name}
        assert done[1] - done[2] == gain, name
