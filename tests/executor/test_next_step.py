"""One function adapts the step of buckets, called from Python and compiled: the same numbers from both."""

import numpy as np
import pytest

from garaph_py.executor.next_step import make_first_step, make_next_step
from garaph_py.native import Kernel

BUCKETS = [
    (10, 12, 0),
    (200, 300, 0),
    (10, 90, 0),
    (10, 12, 4),
    (10, 12, 5),
    (31, 93, 0),
    (31, 94, 0),
    (0, 0, 0),
    (31, 31, 0),
]


@pytest.mark.slow
@pytest.mark.parametrize("fastest", [2, 8])
@pytest.mark.parametrize("kind", ["int32", "int64", "float32"])
def test_compiled_as_called(kind, fastest):
    dtype = np.dtype(kind)
    next_step = make_next_step(dtype, fastest)
    highest = np.inf if dtype.kind == "f" else np.iinfo(dtype).max

    def adapt(steps, edges, followed, before, enough):
        steps[1] = next_step(steps[0], edges, followed, before, enough)
        return 0

    kernel = Kernel(f"{dtype.kind}{8 * dtype.itemsize}* i64 i64 i64 i64", adapt)
    for step in (1, 3, 64, highest // 2 + 1 if dtype.kind == "i" else 1e38):
        for edges, followed, before in BUCKETS:
            steps = np.array([step, 0], dtype)
            kernel(steps, edges, followed, before, 32)
            assert steps[1] == next_step(step, edges, followed, before, 32)
            assert 0 < steps[1] <= highest


def test_it_does_not_grow_beyond_the_largest_number():
    next_step = make_next_step(np.dtype(np.int32), 8)
    largest = np.iinfo(np.int32).max
    assert next_step(largest // 8 - 1, 1, 1, 0, 32) == largest - 15
    assert next_step(largest // 8, 1, 1, 0, 32) == largest // 4 - 1
    assert next_step(largest // 2, 1, 1, 0, 32) == largest // 2
    assert next_step(largest // 2 - 1, 1, 1, 0, 32) == largest - 3


def test_it_grows_as_fast_as_its_caller_says():
    for fastest in (2, 8):
        next_step = make_next_step(np.dtype(np.float32), fastest)
        assert next_step(1.5, 31, 31, 0, 32) == 1.5 * fastest
        assert next_step(1.5, 64, 65, 0, 65) == 1.5 * fastest
        assert next_step(1.5, 64, 66, 0, 65) == 3
        assert next_step(3e38, 31, 31, 0, 32) == 3e38


def test_the_first_step():
    integers, reals = make_first_step(np.dtype(np.int64)), make_first_step(np.dtype(np.float64))
    assert integers(17) == 1
    assert reals(-128.0) == 2
    assert reals(0.0) == 1e-30 / 64


@pytest.mark.parametrize(("kind", "least"), [("int32", 17), ("int64", -5), ("float32", 96.0), ("float64", 0.0)])
def test_the_first_step_compiled(kind, least):
    dtype = np.dtype(kind)
    first_step = make_first_step(dtype)

    def begin(steps):
        steps[1] = first_step(steps[0])
        return 0

    steps = np.array([least, 0], dtype)
    Kernel(f"{dtype.kind}{8 * dtype.itemsize}*", begin)(steps)
    assert steps[1] == dtype.type(first_step(least)) > 0
