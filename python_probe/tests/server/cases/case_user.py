"""Somebody with a notebook, and our panel beside it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from hearing import heard

GIB, MIB = 1 << 30, 1 << 20
CONTEXT = 300 * MIB

TORCH = """
import torch
def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
"""

Ask = Callable[..., Awaitable[tuple[int, Any]]]


class User:
    """Somebody with a notebook, its kernel, and our panel beside it."""

    def __init__(self, ask: Ask, manager: Any, ledger: Any, session: dict[str, Any]) -> None:
        self.path = session["path"]
        self.id = session["kernel"]["id"]
        self.ask = ask
        self._kernel = manager.get_kernel(self.id)
        self._ledger = ledger
        self._client = self._kernel.client()
        self._client.start_channels()

    @property
    def pid(self) -> int:
        return int(self._kernel.provisioner.pid)

    @property
    def held(self) -> int:
        """Bytes on the first GPU by the driver's books, of the kernel's own process."""
        return int(self._ledger.held(self.pid, 0))

    async def ready(self) -> None:
        await heard(self._kernel, self._client)
        await self._idle()

    async def run(self, code: str) -> dict[str, Any]:
        """Run a cell; gives the reply's content, which also tells of an error."""
        reply = await self._client.execute(code, reply=True, timeout=90)
        await self._idle()
        return dict(reply["content"])

    async def cell(self, code: str) -> None:
        """Run a cell that must not fail."""
        content = await self.run(code)
        assert content["status"] == "ok", content

    async def started(self, code: str) -> None:
        """Begin a cell that runs for a while."""
        self._client.execute(code)
        while self._kernel.execution_state != "busy":
            await asyncio.sleep(0.02)

    async def value(self, expression: str) -> Any:
        """What an expression is now."""
        asked = {"value": f"__import__('json').dumps({expression})"}
        reply = await self._client.execute(
            "", silent=True, user_expressions=asked, reply=True, timeout=60
        )
        await self._idle()
        value = reply["content"]["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return json.loads(eval(value["data"]["text/plain"]))

    async def plan(self) -> dict[str, Any]:
        code, plan = await self.ask("kernels", self.id, "plan")
        assert code == 200, plan
        return dict(plan)

    async def free(self, *remedies: str | dict[str, Any], when: str = "now") -> dict[str, Any]:
        """Run what is ticked; gives the report."""
        code, report = await self.post(*remedies, when=when)
        assert code == 200, report
        return dict(report)

    async def post(self, *remedies: str | dict[str, Any], when: str = "now") -> tuple[int, Any]:
        steps = [{"id": each} if isinstance(each, str) else each for each in remedies]
        body = {"remedies": steps, "when": when}
        return await self.ask("kernels", self.id, "remedies", method="POST", body=body)

    async def seen(self) -> dict[str, Any]:
        """The kernel's row in a snapshot read from now on."""
        snapshot = await fresh(self.ask)
        return next(row for row in snapshot["kernels"] if row["id"] == self.id)

    async def _idle(self) -> None:
        # The server hears of a cell's end by another socket than its user.
        while self._kernel.execution_state != "idle":
            await asyncio.sleep(0.02)

    def close(self) -> None:
        self._client.stop_channels()


async def fresh(ask: Ask) -> dict[str, Any]:
    began = time.time()
    while True:
        code, snapshot = await ask("snapshot")
        assert code == 200, snapshot
        if snapshot["taken_at"] >= began:
            return dict(snapshot)
        await asyncio.sleep(0.05)


def remedy(plan: dict[str, Any], id_: str) -> dict[str, Any]:
    return next(row for row in plan["remedies"] if row["id"] == id_)


async def returned(user: User, *remedies: str | dict[str, Any]) -> int:
    """Run remedies; gives the bytes by which the driver's books shrank, which must be what the
    report says, and what the plan promised (or less, where it promised no more than "at most").
    """
    plan, before = await user.plan(), user.held
    steps = [each if isinstance(each, str) else each["id"] for each in remedies]
    report = await user.free(*remedies)
    freed = before - user.held
    assert all(step["ok"] for step in report["steps"]), report
    assert report["freed"] == freed, report
    promised = [remedy(plan, id_) for id_ in {*steps, "release-cache"}]
    most = sum(row["gain"] for row in promised)
    if all(row["gain_is"] == "exact" for row in promised):
        assert abs(freed - most) <= MIB, promised
        assert abs(report["expected"] - freed) <= MIB, report
    else:
        # What was cached in the same segments comes back with it.
        torch = plan["frameworks"]["torch"]
        assert freed <= most + torch["cached"] + MIB, promised
    return freed


def rows(plan: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Who holds it: label to where and MiB."""
    return {row["label"]: (row["where"], row["bytes"] // MIB) for row in plan["holders_in_kernel"]}
