"""Deletes variables that a person has chosen. Runs in the user's kernel, see ``handlers.py``.

``delete`` (``names``) takes them out of the user's namespace, and out of IPython's outputs where
an output is that very object: ``del`` alone leaves it in ``Out``, ``_`` and ``_5``. Whatever else
refers to the object keeps it, and is named.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def delete(agent: Any, request: dict[str, Any]) -> dict[str, Any]:
    """``deleted`` and ``missing``: names. Not ``ok`` if some are IPython's own, which stay."""
    shell = agent.shell
    user, hidden = shell.user_ns, shell.user_ns_hidden
    names = request.get("names")
    if type(names) is not list or any(type(name) is not str for name in names):
        raise TypeError("the names of the variables to delete are not a list of names")
    deleted, missing, refused = [], [], []
    for name in dict.fromkeys(names):
        if name not in user:
            missing.append(name)
        elif (name[:2] == "__" and name[-2:] == "__" and len(name) > 4) or (
            name in hidden and hidden[name] is user[name]
        ):
            refused.append(name)
        else:
            deleted.append(name)
    had = _delete(agent, deleted)
    gc.collect()
    listed = agent.module("unpin").listed
    texts = []
    if refused:
        texts.append(f"Not deleted, for Python or IPython needs it: {listed(refused)}.")
    still = _still_referred(agent, had)
    texts += [
        f"What {name} referred to is still referred to by {listed(others)}."
        for name, others in still.items()
    ]
    return {
        "ok": not refused,
        "deleted": deleted,
        "missing": missing,
        "text": " ".join(texts) or None,
    }


def _delete(agent: Any, names: list[str]) -> dict[str, set[Any]]:
    """Name to the keys of the storages that the object referred to; no object, which would live."""
    shell = agent.shell
    module = agent.module("reach")
    reach = module.Reach(agent)
    objects = []
    had = {}
    for name in names:
        objects.append(shell.user_ns[name])
        try:
            had[name] = set(reach.storages(objects[-1:]))
        except module.TooMany:
            had[name] = set()
    for name in names:
        shell.user_ns.pop(name, None)
    # A number or a text that is equal by chance is often the same object.
    objects = [obj for obj in objects if not issubclass(type(obj), module.ATOMS)]
    unpin = agent.module("unpin")
    unpin.drop_outputs(shell, lambda value: any(value is obj for obj in objects))
    unpin.forget_inspected(agent.kernel)
    return had


def _still_referred(agent: Any, had: dict[str, set[Any]]) -> dict[str, list[str]]:
    """Name to what keeps some of its GPU memory, as far as that is quickly found."""
    module = agent.module("reach")
    reach = module.Reach(agent)
    still: dict[str, list[str]] = {}
    try:
        for label, root in _roots(agent) if any(had.values()) else ():
            found = reach.storages([root]).keys()
            for name, storages in had.items():
                if not found.isdisjoint(storages):
                    still.setdefault(name, []).append(label)
    except module.TooMany:
        pass  # Those found so far are true; the list of holders names the rest.
    return still


def _roots(agent: Any) -> Iterator[tuple[str, Any]]:
    shell, unpin = agent.shell, agent.module("unpin")
    yield from unpin.user_variables(shell)
    for number, value in list(shell.history_manager.output_hist.items()):
        yield f"Out[{number}]", value
    yield "the last error", unpin.last_errors(shell)
