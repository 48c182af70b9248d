"""Twenty notebooks: the rows that a person would expect, and whether the promises hold."""

from __future__ import annotations

from typing import Any

import pytest
from notebook_user import MIB, Child
from notebooks import NOTEBOOKS, Notebook

EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)


def told(row: dict[str, Any]) -> tuple[str, str, float, int, float | None]:
    gain = None if row["gain"] is None else row["gain"] / MIB
    return row["label"], row["where"], row["bytes"] / MIB, row["count"], gain


@EACH
def test_rows_are_what_a_person_would_expect(child: Child, notebook: Notebook) -> None:
    answer = child.run(notebook.cells, ("scan", {}))
    (scan,) = answer["answers"]
    assert {told(row) for row in scan["rows"]} == notebook.rows
    assert len(scan["rows"]) == len(notebook.rows)
    assert scan["complete"]
    assert scan["found"] == answer["live"][0] == sum(row["bytes"] for row in scan["rows"])
    assert [row["bytes"] for row in scan["rows"]] == sorted(
        (row["bytes"] for row in scan["rows"]), reverse=True
    )


@EACH
@pytest.mark.parametrize("remedy", ["collect", "unpin-exceptions", "unpin-outputs"])
def test_a_remedy_returns_what_was_said(child: Child, notebook: Notebook, remedy: str) -> None:
    answer = child.run(notebook.cells, ("scan", {}), ("collect", {}), (remedy, {}))
    gains = answer["answers"][0]["gains"]
    assert gains[remedy] == {"bytes": notebook.gains.get(remedy, 0) * MIB, "is": "exact"}
    before, _, collected, after = answer["live"]
    assert before - collected == gains["collect"]["bytes"]
    if remedy != "collect":
        assert collected - after == gains[remedy]["bytes"]


@EACH
def test_deleting_returns_what_was_said(child: Child, notebook: Notebook) -> None:
    names = {row["name"] for row in child.run(notebook.cells, ("scan", {}))["answers"][0]["rows"]}
    for name in names - {None}:
        answer = child.run(
            notebook.cells, ("collect", {}), ("scan", {}), ("delete", {"names": [name]})
        )
        (gain,) = {row["gain"] for row in answer["answers"][1]["rows"] if row["name"] == name}
        assert gain == answer["live"][2] - answer["live"][3], name


@EACH
def test_looking_changes_nothing(child: Child, notebook: Notebook) -> None:
    answer = child.run(notebook.cells, *[("scan", {})] * 3, ("collect", {}))
    first, second, third, _ = answer["answers"]
    assert first["rows"] == second["rows"] == third["rows"]
    assert first["gains"] == third["gains"]
    # Nothing is let go, and nothing is held: garbage still goes, and only that.
    before, *after, collected = answer["live"]
    assert after == [before] * 3
    assert before - collected == notebook.gains.get("collect", 0) * MIB
