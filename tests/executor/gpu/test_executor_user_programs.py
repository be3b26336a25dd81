"""Programs that a user could write, on a GPU: `prepare`, one's own monoid, NumPy's functions, unified operations."""

import math

import numpy as np
import pytest

import garaph_py as gp
from tests.support import twins
from tests.support.programs import DataDriven

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


class Unreported(DataDriven):
    """A program without `result`: the host's values are the reported ones."""

    reports = None
    result = None


@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
@pytest.mark.parametrize("program", [DataDriven(), Unreported()], ids=["reported", "stored"])
def test_prepare(graph_of, program, mode):
    rng = np.random.default_rng(41)
    graph = graph_of(twins.Edges(6000, np.arange(6000), (6000 * rng.random(6000) ** 2).astype(int)))
    expected = run_with(program, graph, mode=mode, device="cpu").values
    found = run_with(program, graph, mode=mode, device="gpu", page_edges=200).values
    for name in found.dtype.names or ("",):
        np.testing.assert_allclose(found[name] if name else found, expected[name] if name else expected, rtol=1e-9)


def larger(left, right):
    """The pair with the larger first number, of equal ones the larger second: on 16 bytes, no atomic."""
    if right[0] > left[0] or (right[0] == left[0] and right[1] > left[1]):
        return right
    return left


class BestNeighbour(gp.VertexProgram):
    """The in-neighbour over the heaviest edge."""

    value = np.int64
    accumulator = {"weight": np.float64, "vertex": np.int64}  # noqa: RUF012
    sum = gp.Monoid(larger, (-1.0, -1))

    def init(self, id):
        return id

    def gather(self, edge, src_id):
        return edge, src_id

    def apply(self, old, acc):
        return acc.vertex if acc.vertex >= 0 else old


def test_a_monoid_of_ones_own(graph_of):
    graph = graph_of(twins.skewed(3, 3000, 40000, "float64"))
    expected = gp.run(BestNeighbour(), graph, iterations=2, device="cpu").values
    found = gp.run(BestNeighbour(), graph, iterations=2, device="gpu")
    assert found.stats.note is None
    np.testing.assert_array_equal(found.values, expected)
    with pytest.raises(gp.errors.ParameterError, match="segmented"):
        run_with(BestNeighbour(), graph, iterations=2, device="gpu", gather="replicated")


class Functions(gp.VertexProgram):
    """Functions of math and NumPy on numbers."""

    value = np.float32
    sum = gp.add

    def init(self, id, n):
        return float(id) / n

    def gather(self, src):
        return np.sqrt(src) + abs(np.sin(src)) + math.exp(-src)

    def apply(self, old, acc):
        return np.tanh(acc / (float(1) + np.floor(acc))) + np.minimum(old, acc) * np.sign(old)

    def activate(self, new, old):
        return np.isfinite(new) and new != old


@pytest.mark.parametrize("gather", ["segmented", "replicated"])
def test_functions_of_numpy(graph_of, gather):
    graph = graph_of(twins.skewed(4, 3000, 40000))
    expected = run_with(Functions(), graph, iterations=1, device="cpu", sync=True).values
    found = run_with(Functions(), graph, iterations=1, device="gpu", sync=True, gather=gather).values
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


OPERATIONS = {
    "add": (np.int32, np.uint64, np.float32, np.float64), "mul": (np.int32, np.float64),
    "min": (np.int32, np.uint32, np.int64, np.float32, np.float64), "max": (np.uint64, np.int64, np.float32),
    "logical_and": (np.int32, np.int64), "logical_or": (np.uint32,), "logical_xor": (np.int64,),
    "bitwise_and": (np.int32, np.uint64), "bitwise_or": (np.uint32, np.int64), "bitwise_xor": (np.int32, np.uint64),
}  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "dtype"), [(name, dtype) for name, dtypes in OPERATIONS.items() for dtype in dtypes],
    ids=lambda item: item if isinstance(item, str) else item.__name__,
)  # fmt: skip
def test_unified_operations(graph_of, operation, dtype):
    """Each has two fields, which are combined one by one, by atomics and in registers."""

    class Summing(gp.VertexProgram):
        value = {"a": dtype, "b": dtype}  # noqa: RUF012
        sum = getattr(gp, operation)

        def init(self, id):
            return id % 7, id % 5 + 1

        def gather(self, src):
            return src.a, src.b

        def apply(self, acc):
            return acc.a, acc.b

        def activate(self, new, old):
            return True

    graph = graph_of(twins.skewed(6, 1500, 9000))
    expected = run_with(Summing(), graph, iterations=1, device="cpu", check="off").values  # products may be infinite
    for gather in ("segmented", "replicated"):
        found = run_with(Summing(), graph, iterations=1, device="gpu", gather=gather, check="off").values
        for name in ("a", "b"):
            if np.dtype(dtype).kind == "f" and operation in ("add", "mul"):
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
            else:
                np.testing.assert_array_equal(found[name], expected[name])
