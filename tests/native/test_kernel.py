"""Kernels: what they compute, which calls are refused, and which code cannot be kept."""

import ctypes
import math
import threading
import time
import weakref

import numpy as np
import pytest

from garaph_py.errors import ProgramError
from garaph_py.native import Kernel, call_c, call_c_f64, clock, kernel, room
from tests.support.compiled import define, module


def fill(out, x, count):
    for i in range(count):
        out[i] = x
    return count


FILL = Kernel("f64* f64 i64", fill)


def test_a_kernel_computes_what_its_function_says():
    out, twin = np.zeros(4), np.zeros(4)
    assert FILL(out, 2.5, 3) == fill(twin, 2.5, 3)
    assert out.tolist() == twin.tolist() == [2.5, 2.5, 2.5, 0]


def test_a_table_that_is_filled_again_reads_what_was_put_last():
    one, other, rows = np.zeros(2), np.zeros(2), np.zeros((2, 1))
    table, numbers = kernel.ArgumentTable(FILL, 2), np.array([1.0, 2.0])

    def written(out, x, count=1):
        for array in (one, other, rows):
            array[:] = 0
        table.fill(out, x, count)
        assert [table(k) for k in range(2)] == [count, count]
        return [array.ravel().tolist() for array in (one, other, rows)]

    for turn in range(1, 4):  # two arrays that are exchanged
        assert written(one, turn) == [[turn, 0], [0, 0], [0, 0]]
        assert written(other, turn) == [[0, 0], [turn, 0], [0, 0]]
    assert written(kernel.PerCall(rows), numbers) == [[0, 0], [0, 0], [1, 2]]
    numbers[:] = 5, 6  # the same array, with other numbers
    assert written(kernel.PerCall(rows), numbers) == [[0, 0], [0, 0], [5, 6]]
    fixed = np.array([3.0, 4.0])
    fixed.flags.writeable = False
    for array, expected in (fixed, [3, 4]), (fixed, [3, 4]), (numbers, [5, 6]), (fixed, [3, 4]):
        assert written(kernel.PerCall(rows), array) == [[0, 0], [0, 0], expected]
    assert written(one, 7) == [[7, 0], [0, 0], [0, 0]]  # one number after one for each call
    assert written(rows, 7.5) == [[0, 0], [0, 0], [7.5, 0]]
    starts = np.array([0, 1])
    by_start = kernel.From(one, starts)
    assert written(by_start, numbers) == [[5, 6], [0, 0], [0, 0]]
    starts[:] = 1, 0
    assert written(by_start, numbers) == [[6, 5], [0, 0], [0, 0]]


def test_a_known_address_is_that_of_the_same_array_and_fits_the_type():
    known, array = kernel.Addresses(), np.zeros(4)
    for _ in range(2):
        assert known.of("f64*", array) == kernel.address_of(array)
        with pytest.raises(TypeError, match="float64"):
            known.of("i64*", array)
    for _ in range(2 * kernel.MOST_KNOWN):
        array = np.zeros(2)
        left = weakref.ref(array)
        assert known.of("f64*", array) == kernel.address_of(array)
        del array
        assert left() is not None  # else another array could get its `id`


SHORT = np.dtype(np.int16)


def turn_round(numbers, count):
    kept = room(4, SHORT)
    for k in range(count):
        kept[k] = numbers[k]
    for k in range(count):
        numbers[k] = kept[count - 1 - k]
    return count


def test_a_kernel_has_room_of_its_own_for_numbers_of_any_type():
    numbers, twin = np.array([5, -7, 9, 32767]), np.array([5, -7, 9, 32767])
    assert Kernel("i64* i64", turn_round)(numbers, 4) == turn_round(twin, 4)
    assert numbers.tolist() == twin.tolist() == [32767, 9, -7, 5]


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_compiling_tells_how_far_it_is(folder):
    functions = [define(f"def f(x): return x + {k}") for k in (100, 200)]
    kernels = [Kernel("i64", function) for function in functions]
    steps = []
    kernel.prepare(kernels, steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]
    kernel.prepare(kernels, steps.append)
    assert len(steps) == 3
    assert all(each.is_ready for each in kernels)


def call_python(function, other, thing, out):
    out[0] = call_c_f64(other, (thing,))
    return call_c(function, (thing,))


@pytest.mark.parametrize("way", ["compiled", "python"])
def test_a_kernel_that_holds_the_gil_calls_functions_of_python_and_raises_what_they_raise(way):
    size, real = (
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for name in ("PyDict_Size", "PyFloat_AsDouble")
    )
    call = Kernel("i64 i64 i64 f64*", call_python, holds_gil=True)
    call, out = (call if way == "compiled" else call.function), np.zeros(1)
    number, items = 2.5, {1: 2, 3: 4}
    with pytest.raises(SystemError, match="bad argument"):
        call(size, real, id(number), out)
    assert out[0] == 2.5
    with pytest.raises(TypeError, match="must be real number, not dict"):
        call(size, real, id(items), out)
