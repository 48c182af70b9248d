"""C code for what the simulated driver has to offer but does not model.

PyTorch's CUDA build imports several hundred functions of NVIDIA's libraries. They are never of
interest to whoever measures memory: the maths libraries' stand-ins succeed and do nothing, the
runtime's remaining functions say "not supported". The names are in symbols/*.txt (see
collect_symbols.py).
"""

from __future__ import annotations

from pathlib import Path

SYMBOLS = Path(__file__).parent / "symbols"
RUNTIME = "libcudart.so.13"
MATHS = tuple(
    sorted(path.name[: -len(".txt")] for path in SYMBOLS.glob("*.txt") if RUNTIME not in path.name)
)

# Where PyTorch reads the answer.
ANSWERS = {
    "cublasGetVersion_v2": "int F(void *h, int *v) { *v = 130101; return 0; }",
    "cublasGetStream_v2": "int F(void *h, void **s) { *s = 0; return 0; }",
    "cublasGetMathMode": "int F(void *h, int *m) { *m = 0; return 0; }",
    "cublasGetPointerMode_v2": "int F(void *h, int *m) { *m = 0; return 0; }",
    "cublasLtGetVersion": "size_t F(void) { return 130101; }",
    "cublasLtMatmulAlgoGetHeuristic": (
        "int F(void *a, void *b, void *c, void *d, void *e, void *f, void *g, int n, void *r,"
        " int *k) { memset(r, 0, 112); *k = 1; return 0; }"
    ),
    # CUDNN_STATUS_NOT_INITIALIZED: cuDNN's engines are not modelled, its users get an error.
    "cudnnCreate": "int F(void **o) { *o = 0; return 1001; }",
    "cudnnGetVersion": "size_t F(void) { return 92400; }",
    "cudnnGetCudartVersion": "size_t F(void) { return 13000; }",
    "cusparseLtGetVersion": "int F(void *h, int *v) { *v = 801; return 0; }",
    "cusparseGetVersion": "int F(void *h, int *v) { *v = 12603; return 0; }",
    "cusolverDnGetStream": "int F(void *h, void **s) { *s = 0; return 0; }",
    "cusparseGetStream": "int F(void *h, void **s) { *s = 0; return 0; }",
}


def listed(library: str) -> tuple[list[str], str]:
    """The functions that a library exports, and their symbol version ("": none)."""
    lines = (SYMBOLS / f"{library}.txt").read_text().split("\n")
    version = lines.pop(0).removeprefix("# version ") if lines[0].startswith("#") else ""
    return [line for line in lines if line], version


def version_script(version: str) -> str:
    """For the linker: every exported function has the version."""
    return f"{version} {{ global: *; }};\n"


def _stand_in(name: str) -> str:
    if name in ANSWERS:
        return ANSWERS[name].replace(" F(", f" {name}(")
    if "String" in name or name.endswith("StatusName"):
        return f'const char *{name}(int code) {{ return "simulated"; }}'
    if "Create" in name and not name.startswith("cufft"):
        return f"int {name}(void **out) {{ *out = calloc(1, 8192); return 0; }}"
    return f"int {name}(void) {{ return 0; }}"


def maths(library: str) -> str:
    """A maths library whose functions succeed and do nothing."""
    names, _ = listed(library)
    includes = ["#include <stdlib.h>", "#include <string.h>"]
    return "\n".join([*includes, *map(_stand_in, names)]) + "\n"


def runtime_rest() -> str:
    """All of the runtime's functions, refusing; weak, so that those in src/ come before them."""
    attributes = '__attribute__((weak, visibility("default")))'
    lines = [
        f'{attributes} int {name}(void) {{ sim_trace("{name} is not modelled"); return 801; }}'
        for name in listed(RUNTIME)[0]
    ]
    return "\n".join(["void sim_trace(const char *);", *lines]) + "\n"
