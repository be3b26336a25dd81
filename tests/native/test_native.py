"""Compiled functions: keys that hold all they depend on, a cache that cannot mislead, calls that cannot go astray."""

import collections
import ctypes
import enum
import math
import os
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

from garaph_py.errors import ProgramError
from garaph_py.native import Kernel, cache, clock, kernel
from garaph_py.native.references import fingerprint, rebuild


def define(text, **names):
    """The function ``f`` of a module with this text and these further globals."""
    exec(compile(text, "user.py", "exec"), names)
    return names["f"]


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


def python(code, **environment):
    """What a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing yet."""
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "_loaded", {})
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """Names of the functions compiled during the test."""
    from garaph_py.native import compiler

    compiled, compile_object = [], compiler.compile_object

    def counting(function, signature):
        compiled.append(function.__name__)
        return compile_object(function, signature)

    monkeypatch.setattr(compiler, "compile_object", counting)
    return compiled


# Keys


def with_closure(value):
    return define(
        "def outer(value):\n    def f(x):\n        return x + value\n    return f\nf = outer(start)", start=value
    )


def named(*fields):
    return collections.namedtuple("Pair", fields)(1, 2)


def colour(red):
    return enum.IntEnum("Colour", {"RED": red, "BLUE": 7})


USES_MODULE = "def f(x): return user.K * x"
USES_PACKAGE = "def f(x): return user.inner.K * x"
USES_HELPER = "def helper(x): return x * {0}\ndef f(x): return helper(x)"
DIFFERENT = {
    "text": (define("def f(x): return x + 1"), define("def f(x): return x + 2")),
    "operator": (define("def f(x): return x + 1"), define("def f(x): return x - 1")),
    "global": (define("def f(x): return x * K", K=2), define("def f(x): return x * K", K=3)),
    "int or bool": (define("def f(x): return x * K", K=1), define("def f(x): return x * K", K=True)),
    "int or float": (define("def f(x): return x * K", K=1), define("def f(x): return x * K", K=1.0)),
    "float32 or float": (define("def f(x): return x * K", K=1.0), define("def f(x): return x * K", K=np.float32(1))),
    "sign of zero": (define("def f(x): return x * K", K=0.0), define("def f(x): return x * K", K=-0.0)),
    "sign of zero in the text": (define("def f(x): return x * 0.0"), define("def f(x): return x * -0.0")),
    "last digit": (define("def f(x): return K", K=0.1), define("def f(x): return K", K=math.nextafter(0.1, 1))),
    "closure": (with_closure(1), with_closure(2)),
    "default": (define("def f(x, y=1): return x + y"), define("def f(x, y=2): return x + y")),
    "keyword default": (define("def f(x, *, y=1): return x + y"), define("def f(x, *, y=2): return x + y")),
    "helper": (define(USES_HELPER.format(2)), define(USES_HELPER.format(3))),
    "helper's global": (
        define("def helper(x): return x * K\ndef f(x): return helper(x)", K=2),
        define("def helper(x): return x * K\ndef f(x): return helper(x)", K=3),
    ),
    "module's constant": (define(USES_MODULE, user=module("user", K=1)), define(USES_MODULE, user=module("user", K=2))),
    "inner module's constant": (
        define(USES_PACKAGE, user=module("user", inner=module("user.inner", K=1))),
        define(USES_PACKAGE, user=module("user", inner=module("user.inner", K=2))),
    ),
    "module's helper": (
        define("def f(x): return user.g(x)", user=module("user", g=define("def f(x): return x"))),
        define("def f(x): return user.g(x)", user=module("user", g=define("def f(x): return -x"))),
    ),
    "array": (define("def f(i): return A[i]", A=np.arange(3)), define("def f(i): return A[i]", A=np.arange(3) + 1)),
    "array's type": (
        define("def f(i): return A[i]", A=np.zeros(2, np.int64)),
        define("def f(i): return A[i]", A=np.zeros(2)),
    ),
    "array's order": (
        define("def f(i): return A[i]", A=np.zeros((2, 2))),
        define("def f(i): return A[i]", A=np.zeros((2, 2), order="F")),
    ),
    "tuple": (define("def f(i): return T[i]", T=(1, 2)), define("def f(i): return T[i]", T=(2, 1))),
    "fields of a named tuple": (
        define("def f(x): return T.a", T=named("a", "b")),
        define("def f(x): return T.a", T=named("b", "a")),
    ),
    "member of an enum": (define("def f(x): return C.RED", C=colour(1)), define("def f(x): return C.RED", C=colour(2))),
}  # fmt: skip


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_whatever_a_function_freezes_is_in_its_key(pair):
    one, other = map(fingerprint, pair)
    assert one != other
    assert one == fingerprint(pair[0])


def test_a_key_does_not_depend_on_what_the_function_does_not_use():
    text = "def f(x): return x + K"
    assert fingerprint(define(text, K=1, other=2)) == fingerprint(define(text, K=1, other=3))
    assert fingerprint(define(text, K=1)) == fingerprint(define("# a comment\n\n" + text, K=1))


def test_functions_that_call_each_other_have_a_key_and_a_copy():
    one = define("def g(x): return f(x)\ndef f(x): return g(x) + 1")
    other = define("def g(x): return f(x)\ndef f(x): return g(x) + 2")
    assert fingerprint(one) != fingerprint(other)
    copy = rebuild(one)
    assert copy is not one
    assert copy.__globals__["g"].__globals__["f"] is copy


def test_modules_that_name_each_other_have_a_key_and_a_copy():
    inner = module("user.inner", K=3)
    outer = module("user", inner=inner)
    inner.user = outer
    function = define("def f(x): return user.inner.user.inner.K + x", user=outer)
    assert fingerprint(function)
    assert rebuild(function)(1) == 4


def test_a_numba_function_counts_as_the_python_function_it_was_made_from():
    import numba

    text = "def helper(x): return x * 2\nhelper = wrap(helper)\ndef f(x): return helper(x)"
    assert fingerprint(define(text, wrap=numba.njit)) == fingerprint(define(text, wrap=lambda g: g))


PRINTS_KEYS = """
import collections, enum, numpy as np
from garaph_py.native.references import fingerprint
class Plain: pass
class Colour(enum.IntEnum):
    RED = 1
A = {"names", "in", "a", "set"}
B = frozenset(["red", "green", "blue"])
C = Plain()
D = np.arange(5, dtype=[("x", "f4"), ("y", "i8")][0][1])
E = collections.namedtuple("E", "a b")(1, -0.0)
G = {"one": 1, "two": (2.5, None)}
def helper(x): return x in A or x in B or x in {"p", "q", "r"}
def f(x): return helper(x), A, B, C, D, E, G, Plain, Colour, abs, np.float32(1)
print(fingerprint(f, np.dtype([("a", "f4"), ("b", "i8")], align=True)))
from garaph_py.native import cache
from garaph_py.executor.cpu.sets import COUNT_EDGES
print(COUNT_EDGES.key)
"""


def test_keys_are_the_same_in_every_process():
    assert len({python(PRINTS_KEYS, PYTHONHASHSEED=seed) for seed in ("0", "1", "77")}) == 1


def test_another_processor_has_other_keys(folder, compilations, monkeypatch):
    def double(x):
        return 2 * x

    assert Kernel("i64", double)(4) == 8
    monkeypatch.setattr(cache, "environment", lambda: "a processor with other instructions")
    monkeypatch.setattr(kernel, "_loaded", {})
    assert not Kernel("i64", double).is_ready
    assert Kernel("i64", double)(4) == 8
    assert compilations == ["double", "double"]


# The cache


def triple(x):
    return 3 * x


def compiled_entry(folder):
    assert Kernel("i64", triple)(5) == 15
    (entry,) = folder.glob("*.o")
    return entry


DAMAGE = {
    "empty": lambda data: b"",
    "only a header": lambda data: data[:16],
    "header and checksum": lambda data: data[:32],
    "half": lambda data: data[: len(data) // 2],
    "last byte missing": lambda data: data[:-1],
    "a byte too many": lambda data: data + b"\0",
    "a bit of the code flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "another version": lambda data: data.replace(b"garaph object 1", b"garaph object 0", 1),
    "not ours": lambda data: b"\x7fELF" + bytes(500),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_code_is_never_run(folder, compilations, monkeypatch, damage):
    entry = compiled_entry(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    monkeypatch.setattr(kernel, "_loaded", {})
    assert not Kernel("i64", triple).is_ready
    assert Kernel("i64", triple)(5) == 15
    assert compilations == ["triple", "triple"]
    assert cache.load(entry.stem) is not None  # replaced by a whole one


def test_code_under_another_key_is_never_run(folder, compilations):
    entry = compiled_entry(folder)
    other = Kernel("i64", define("def f(x): return 4 * x"))
    entry.rename(folder / f"{other.key}.o")
    assert not other.is_ready
    assert other(5) == 20
    assert compilations == ["triple", "f"]


def test_a_warm_kernel_is_loaded_not_compiled(folder, compilations, monkeypatch):
    compiled_entry(folder)
    monkeypatch.setattr(kernel, "_loaded", {})
    again = Kernel("i64", triple)
    assert again.is_ready
    assert again(6) == 18
    assert compilations == ["triple"]


@pytest.mark.parametrize("below", [".", "deeper"])
def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch, below):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "file" / below))
    monkeypatch.setattr(kernel, "_loaded", {})
    assert Kernel("i64", triple)(5) == 15


COMPILES = """
from garaph_py.native import Kernel
def f(x): return 7 * x
print(Kernel("i64", f)(6))
"""


def test_processes_may_compile_the_same_at_once(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILES], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in both] == ["42\n", "42\n"]
    assert len(list(folder.iterdir())) == 1


LIBRARY_PROGRAM = """
import sys
import garaph_py as gp
light = not {"numba", "llvmlite", "pyarrow", "scipy", "typer", "rich", "pandas"} & set(sys.modules)
graph = gp.from_edges([0, 1, 2], [1, 2, 0])
for mode in ("pull", "notify-pull"):
    result = gp.run(gp.apps.BFS(source=0), graph, mode=mode)
print(light, result.values["level"].tolist(), "numba" in sys.modules)
"""


def test_a_warm_process_does_not_import_numba(folder):
    assert python(LIBRARY_PROGRAM) == "True [0, 1, 2] True\n"
    assert python(LIBRARY_PROGRAM) == "True [0, 1, 2] False\n"


def test_the_import_is_light():
    code = "import time; t = time.perf_counter(); import garaph_py; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(3)) < 0.6


# Calls


def fill(out, x, count):
    for i in range(count):
        out[i] = x
    return count


FILL = Kernel("f64* f64 i64", fill)


def test_a_kernel_computes_what_its_function_says():
    out, twin = np.zeros(4), np.zeros(4)
    assert FILL(out, 2.5, 3) == fill(twin, 2.5, 3)
    assert out.tolist() == twin.tolist() == [2.5, 2.5, 2.5, 0]


def read_clock(out):
    for k in range(2):
        out[k] = clock()
    return 0


def test_the_clock_is_pythons():
    times = np.zeros(2, np.int64)
    before = time.perf_counter_ns()
    Kernel("i64*", read_clock)(times)
    assert before <= times[0] <= times[1] <= time.perf_counter_ns()
    read_clock(times)
    assert times[1] <= time.perf_counter_ns()


unaligned = np.zeros(33, np.uint8)[1:].view(np.float64)
UNFIT = {
    "too few": ((np.zeros(4), 1.0), "takes 3 arguments"),
    "too many": ((np.zeros(4), 1.0, 2, 3), "takes 3 arguments"),
    "another type": ((np.zeros(4, np.float32), 1.0, 2), "f64"),
    "another byte order": ((np.zeros(4, ">f8"), 1.0, 2), "f64"),
    "strided": ((np.zeros(8)[::2], 1.0, 2), "C-contiguous"),
    "unaligned": ((unaligned, 1.0, 2), "aligned"),
    "a structure": ((np.zeros(4, [("a", "f8")]), 1.0, 2), "f64"),
}


@pytest.mark.parametrize(("arguments", "message"), UNFIT.values(), ids=UNFIT)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        FILL(*arguments)


def test_no_array_is_a_null_pointer():
    assert FILL(None, 1.0, 0) == 0


def test_many_threads_may_call_a_kernel_that_is_not_compiled_yet(folder, compilations):
    function = define("def f(out, x):\n    out[0] = x * x\n    return x")
    start, results = threading.Barrier(8), []

    def call(number):
        out, own = np.zeros(1, np.int64), Kernel("i64* i64", function)
        start.wait()
        results.append((number, own(out, number), out[0]))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(number, number, number**2) for number in range(8)]
    assert compilations == ["f"]


CANNOT_BE_KEPT = {
    "print": ("def f(x):\n    print(x)\n    return x", {}, "part of Python"),
    "an array": ("def f(x):\n    return np.zeros(x)[0]", {"np": np}, "allocates memory"),
    "a list": ("def f(x):\n    return [x, 1][x]", {}, "allocates memory"),
    "an error": ("def f(x):\n    return (1, 2, x)[x]", {}, "can raise an error"),
    "a function pointer": (
        "def f(x):\n    return g(x)",
        {"g": ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x)},
        "address",
    ),
    "a big array": ("def f(x):\n    return A[x]", {"A": np.ones(200_000, np.int64)}, "address"),
    "an unknown name": ("def f(x):\n    return nothing(x)", {}, "cannot be compiled"),
}


@pytest.mark.parametrize(("text", "names", "message"), CANNOT_BE_KEPT.values(), ids=CANNOT_BE_KEPT)
def test_code_that_another_process_could_not_run_is_refused(folder, text, names, message):
    with pytest.raises(ProgramError, match=message):
        Kernel("i64", define(text, **names))(1)
    assert not folder.exists()


def test_helpers_are_found_in_modules_closures_and_behind_numba():
    import numba

    inner = module("user.inner", K=10, add=define("def f(x): return x + K", K=5))
    user = module("user", inner=inner)
    function = define(
        "def outer(g):\n"
        "    def f(x): return g(user.inner.add(x)) * user.inner.K + h(x)\n"
        "    return f\n"
        "f = outer(g)",
        user=user, g=define("def f(x): return -x"), h=numba.njit(define("def f(x): return x // 0")),
    )  # fmt: skip
    assert Kernel("i64", function)(1) == -60


# Mathematics: as Python has it, and as IEEE 754 has it where Python raises

AS_PYTHON = [
    "math.tanh(x)", "math.exp(x)", "math.log(x)", "math.log1p(x)", "math.sqrt(x)", "math.pow(x, y)", "math.sin(x)",
    "math.atan2(x, y)", "math.hypot(x, y)", "math.floor(x)", "math.ceil(-x)", "math.trunc(-x)", "math.fabs(-x)",
    "math.copysign(x, -y)", "math.erf(x)", "math.gcd(i, j)", "math.isnan(x)", "np.tanh(x)", "np.exp(x)", "np.log2(x)",
    "np.sqrt(x)", "np.maximum(x, y)", "np.minimum(x, y)", "np.abs(-x)", "np.sign(-x)", "np.isfinite(x)", "x % y",
    "-x % y", "x % -y", "x // y", "-x // y", "x**y", "x**2", "x**-2", "i**j", "i**3", "i // j", "-i // j", "i % j",
    "-i % j", "i % -j", "i / j", "round(x)", "round(-y)", "round(x, 1)", "int(x)", "int(-x)", "float(i)", "bool(i)",
    "abs(-x)", "abs(-i)", "min(x, y)", "max(x, y, i)", "min(i, j, 1)", "divmod(-i, j)[1]", "pow(i, 2)", "i & j",
    "i | j", "i ^ j", "~i", "i << j", "i >> 1", "-i >> 1", "j < i < 9", "x > 1", "i == j", "(i > j) + 0", "len((x, y))",
]  # fmt: skip
IEEE = {
    "x/zero": math.inf, "-x/zero": -math.inf, "zero/zero": math.nan, "i/0": math.inf, "x%zero": math.nan,
    "i//(i-i)": 0, "i%(i-i)": 0, "math.sqrt(-x)": math.nan, "math.log(zero)": -math.inf, "math.log(-x)": math.nan,
    "math.exp(x*1e6)": math.inf, "zero**-1.0": math.inf, "np.sqrt(-x)": math.nan, "1e308*x*10": math.inf,
}  # fmt: skip


def test_mathematics_in_compiled_code():
    expressions = [*AS_PYTHON, *IEEE]
    body = "".join(f"    out[{k}] = {expression}\n" for k, expression in enumerate(expressions))
    function = define(f"def f(out, x, y, zero, i, j):\n{body}    return 0", math=math, np=np)
    values = {"x": 2.75, "y": 1.5, "zero": 0.0, "i": 7, "j": 3}
    out = np.zeros(len(expressions))
    assert Kernel("f64* f64 f64 f64 i64 i64", function)(out, *values.values()) == 0
    wanted = [float(eval(expression, {"math": math, "np": np}, values)) for expression in AS_PYTHON]
    wrong = [
        (expression, found, right)
        for expression, found, right in zip(expressions, out, [*wanted, *IEEE.values()], strict=True)
        if not (found == right or math.isclose(found, right, rel_tol=1e-14) or (found != found and right != right))
    ]
    assert wrong == []


def test_compiling_tells_how_far_it_is(folder):
    functions = [define(f"def f(x): return x + {k}") for k in (100, 200)]
    kernels = [Kernel("i64", function) for function in functions]
    steps = []
    kernel.prepare(kernels, steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]
    kernel.prepare(kernels, steps.append)
    assert len(steps) == 3
    assert all(each.is_ready for each in kernels)
