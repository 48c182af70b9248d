"""Memory that is "not freed", with the real CUDA build of PyTorch: each leak is made, planned for,
freed, and compared with the driver's books."""

from pathlib import Path

import pytest
from case_user import CONTEXT, GIB, MIB, remedy, returned, rows
from jupyterlab_vram.kernels import lifecycle

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(120)]

STAND_INS = Path(__file__).parents[2] / "stand_ins"


async def test_what_is_in_use_stays_and_the_context_until_the_process_ends(open_notebook):
    user = await open_notebook()
    await user.cell("x = take(200); y = take(64); del y")
    peak = await user.value("torch.cuda.max_memory_allocated()")
    plan = await user.plan()
    use = plan["frameworks"]["torch"]
    assert [use[key] // MIB for key in ("live", "cached", "context", "peak")] == [200, 64, 300, 264]
    assert await user.value("torch.cuda.max_memory_allocated()") == peak

    # Releasing comes too early for x, and the plan says who has it.
    assert await returned(user, "collect", "release-cache") == 64 * MIB
    plan = await user.plan()
    assert remedy(plan, "release-cache")["gain"] == 0
    assert rows(plan) == {"x": ("variable", 200)}
    assert await returned(user, {"id": "delete", "names": ["x"]}) == 200 * MIB
    assert await user.value("'x' in globals()") is False

    plan = await user.plan()
    assert plan["remains"]["bytes"] == user.held == CONTEXT
    assert "only ending the process returns it" in plan["remains"]["why"]
    report = await user.free("restart")
    assert (report["freed"], user.held) == (CONTEXT, 0)


async def test_errors_and_outputs_pin(open_notebook):
    user = await open_notebook()
    chain = """
    def inner():
        t = take(50)
        raise ValueError
    def outer():
        u = take(70)
        try:
            inner()
        except ValueError:
            raise KeyError("both")
    outer()
    """
    for _ in range(3):  # each run pins anew what the one before let go
        assert (await user.run(chain))["ename"] == "KeyError"
    plan = await user.plan()
    assert {where for where, _ in rows(plan).values()} == {"exception"}
    assert remedy(plan, "collect")["gain"] + remedy(plan, "unpin-exceptions")["gain"] >= 120 * MIB
    assert await returned(user, "collect", "unpin-exceptions") >= 120 * MIB
    assert user.held == CONTEXT
    assert (await user.run("%tb"))["status"] == "ok"

    # Somebody knows half of where outputs are kept.
    await user.cell("take(80)")
    number = await user.value("max(Out)")
    await user.cell(f"del Out[{number}], _{number}; import gc; gc.collect()")
    await user.cell("big = take(40); big")
    await user.cell("del big; torch.cuda.empty_cache()")
    assert user.held == 120 * MIB + CONTEXT
    plan = await user.plan()
    assert {where for where, _ in rows(plan).values()} == {"output"}
    assert remedy(plan, "unpin-outputs")["gain"] == 120 * MIB
    assert await returned(user, "unpin-outputs") == 120 * MIB


async def test_running_out_in_backward_and_an_interrupt(open_notebook):
    user = await open_notebook()
    await user.cell(
        """
        class Grows(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(take(150))
                return x.clone()
            @staticmethod
            def backward(ctx, gradient):
                scratch = take(100)
                take(30 << 10)
        w = torch.ones(1 << 20, device="cuda", requires_grad=True)
        def step():
            activations = take(300)
            Grows.apply(w).sum().backward()
        """
    )
    kept = user.held
    failed = await user.run("step()")
    assert failed["ename"] == "OutOfMemoryError"
    assert user.held - kept >= 550 * MIB
    await returned(user, "collect", "unpin-exceptions")
    assert abs(user.held - kept) <= MIB  # the first step left nothing else

    # A cell that is stopped keeps what it had, and the next one would run out by it.
    await user.started("def train():\n    kept = take(1000)\n    while True: pass\ntrain()")
    while user.held < 1000 * MIB:
        assert (await user.plan())["state"] == "busy"
    report = await user.free("interrupt")
    assert report["steps"][0]["ok"], report
    assert await returned(user, "collect", "unpin-exceptions") == 1000 * MIB


async def test_a_trainers_references_are_named(open_notebook):
    user = await open_notebook()
    await user.cell(
        """
        class Trainer:
            def __init__(self):
                self.model = torch.nn.Linear(2048, 4096).cuda()
                self.optimizer = torch.optim.Adam(self.model.parameters())
            def fit(self):
                self.model(torch.ones(4, 2048, device="cuda")).sum().backward()
                self.optimizer.step()
        trainer = Trainer()
        trainer.fit()
        alias = trainer.model
        """
    )
    plan = await user.plan()
    found = rows(plan)
    kinds = {row["kind"]: row["bytes"] // MIB for row in plan["holders_in_kernel"]}
    assert kinds["optimizer state"] == 64 and kinds["gradients"] == 32, plan["holders_in_kernel"]
    assert {found[name][0] for name in found if "workspace" in name} == {"framework"}
    # Somebody deletes what they think it is.
    freed = await returned(user, {"id": "delete", "names": ["trainer"]})
    assert 64 * MIB <= freed < 128 * MIB
    await returned(user, {"id": "delete", "names": ["alias"]})
    assert (await user.plan())["holders_in_kernel"][0]["where"] == "framework"
    await user.free("clear-session")
    assert user.held == CONTEXT


async def test_compiled_code_keeps_private_pools(open_notebook, tmp_path):
    user = await open_notebook()
    await user.cell(
        f"""
        import os
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = {str(tmp_path)!r}
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        @torch.compile(mode="reduce-overhead")
        def f(x):
            return (x * 2 + 1).relu()
        x = torch.randn(1 << 20, device="cuda")
        for _ in range(4):
            y = f(x)
        del x, y, f
        """
    )
    await user.free("collect", "release-cache")
    assert user.held - CONTEXT > 50 * MIB
    plan = await user.plan()
    pools = [row for row in plan["holders_in_kernel"] if row["kind"] == "private pool"]
    assert sum(row["bytes"] for row in pools) == user.held - CONTEXT
    assert "CUDA graphs" in remedy(plan, "park")["why_not"]
    assert "compiled anew" in remedy(plan, "clear-session")["loses"]
    report = await user.free("clear-session")
    assert report["freed"] == plan["bytes"] - CONTEXT
    assert user.held == CONTEXT


async def test_parked_data_come_back_bit_for_bit(open_notebook):
    user = await open_notebook()
    await user.cell(
        """
        x = torch.randint(0, 256, (200 << 20,), dtype=torch.uint8).cuda()
        view, before = x[5:], x.cpu()
        """
    )
    assert await returned(user, "park") == 200 * MIB
    row = await user.seen()
    assert (row["parked"], row["bytes"]) == (200 * MIB, CONTEXT)
    report = await user.free("restore")
    (step,) = report["steps"]
    assert step["seconds"] < lifecycle.RETURN_LIMIT / 2  # there is nothing to wait for
    assert user.held == 200 * MIB + CONTEXT
    assert await user.value("bool(torch.equal(view.cpu(), before[5:]))")


async def test_an_engine_in_the_kernel_outlives_its_name(open_notebook):
    user = await open_notebook()
    await user.cell(
        f"""
        import sys, types
        sys.path.insert(0, {str(STAND_INS)!r})
        import vllm
        def load():
            # What vLLM keeps of an engine that runs in this process.
            state = types.ModuleType("vllm.distributed.parallel_state")
            state._WORLD = types.SimpleNamespace(device=torch.device("cuda", 0), cache=take(5000))
            sys.modules[state.__name__] = state
            return object()
        llm = load()
        del llm
        import gc; gc.collect(); torch.cuda.empty_cache()
        """
    )
    plan = await user.plan()
    assert plan["pools"] == ["vllm"]
    assert "keeps it until its engine ends" in plan["remains"]["why"]
    for id_ in ("collect", "release-cache", "unpin-exceptions", "unpin-outputs"):
        assert not remedy(plan, id_)["gain"]
    report = await user.free("restart")
    assert report["freed"] == 5000 * MIB + CONTEXT
    assert user.held == 0


async def test_a_session_in_use_is_not_cleared(open_notebook):
    user = await open_notebook()
    await user.cell("x = take(1 << 10)")
    await user.started("import time\nfor _ in range(60): time.sleep(0.05)\ndone = x.nbytes")
    plan = await user.plan()
    assert plan["state"] == "busy"
    assert "clear-session" not in [row["id"] for row in plan["remedies"]]
    code, answer = await user.post("clear-session")
    assert (code, "runs" in answer["message"]) == (409, True), answer
    await user.cell("")
    assert await user.value("done") == GIB  # the cell came to its end
