"""Programs that a user could write, linked for a GPU that need not be there: any monoid, name, type and function."""

import math

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError, ProgramError
from garaph_py.executor.gpu import compiler
from garaph_py.executor.gpu.interface import can_replicate
from garaph_py.graph.part import Cuts, cut_out
from garaph_py.program import bind, narrow
from garaph_py.program.part import bind_on_part
from tests.support import ptx
from tests.support.cases import mostly_full
from tests.support.programs import Sees

pytestmark = pytest.mark.cuda

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")


def bound(program, weights=None):
    values = None if weights is None else np.ones(3, weights)
    return bind(program, gp.from_edges([0, 1, 2], [1, 2, 0], values))


def linked(program, weights=None, architecture="sm_75"):
    """Instructions of each kernel; nothing is called that is not there."""
    text = compiler.link(bound(program, weights), architecture, "ptx").decode()
    assert ".extern .func" not in text
    return ptx.instructions(text)


class Sum(gp.VertexProgram):
    """The sum of in-neighbours' values, without apply; subclasses say of what type and by which operation."""

    value = np.float32
    sum = gp.add

    def init(self):
        return 1

    def gather(self, src):
        return src


TYPES = {"i": np.int32, "u": np.uint32, "l": np.int64, "w": np.uint64, "f": np.float32, "d": np.float64}
INTEGERS = {name: TYPES[name] for name in "iulw"}
COMPARE = {"cas.b32", "cas.b64"}
ATOMICS = {
    "add": {"add.u32", "add.u64", "add.f32", "add.f64"},
    "min": {"min.s32", "min.u32", "min.s64", "min.u64", *COMPARE},
    "max": {"max.s32", "max.u32", "max.s64", "max.u64", *COMPARE},
    "mul": COMPARE,
    "logical_and": COMPARE,
    "logical_or": COMPARE,
    "logical_xor": COMPARE,
    "bitwise_and": {"and.b32", "and.b64"},
    "bitwise_or": {"or.b32", "or.b64"},
    "bitwise_xor": {"xor.b32", "xor.b64"},
}
"""What a sum by each operation takes, over fields of all types: the device's own atomics where it has them."""


@pytest.mark.parametrize("name", mostly_full(ATOMICS, "add"))
def test_sums_are_native_atomics_where_there_are_any(name):
    types = INTEGERS if name.startswith("bitwise") else TYPES
    ones = ", ".join("1" for _ in types)
    space = {}
    exec(f"def init(self): return {ones}\ndef gather(self, src): return {', '.join(f'src.{x}' for x in types)}", space)
    kind = type("Fields", (gp.VertexProgram,), {**space, "value": types, "sum": getattr(gp, name)})
    lines = linked(kind(), architecture=ARCHITECTURES[list(ATOMICS).index(name) % 4])["gather_replicated"]
    counters = {"add.u64"}  # of active vertices and their edges
    assert set(ptx.atomics(lines, "shared")) == ATOMICS[name] | counters
    assert set(ptx.atomics(lines, "global")) >= ATOMICS[name]  # of pieces


class Earliest(Sum):
    """The least value that leads to a vertex."""

    sum = gp.min


LEAST = {
    "i": {"min.s32"}, "u": {"min.u32"}, "l": {"min.s64"}, "w": {"min.u64"}, "f": {"min.s32", "max.u32"},
    "d": {"min.s64", "max.u64"},
}  # fmt: skip
"""What finding the least priority takes."""


@pytest.mark.full
@pytest.mark.parametrize("name", mostly_full(TYPES, "f"))
def test_the_least_priority_is_found_without_a_loop(name):
    space = {}
    exec("def priority(self, value): return value", space)
    plain = type("Plain", (Earliest,), {"value": TYPES[name]})
    nearest = type("Nearest", (plain,), {"priority": space["priority"]})
    own, others = (set(ptx.atomics(linked(kind())["push_few"], "global")) for kind in (nearest, plain))
    assert own - others == LEAST[name]


def larger(left, right):
    return left if abs(left) > abs(right) else right


def joined(left, right):
    """Mean and number of two samples."""
    count = left[1] + right[1]
    return ((left[0] * left[1] + right[0] * right[1]) / count if count > 0 else left[0]), count


class Largest(Sum):
    """The value farthest from 0."""

    sum = gp.Monoid(larger, 0)


class Largest64(Largest):
    value = np.float64


class Mean(Sum):
    """The mean of in-neighbours' values: two words."""

    accumulator = {"mean": np.float32, "count": np.float32}  # noqa: RUF012
    sum = gp.Monoid(joined, (0, 0))

    def gather(self, src):
        return src, float(1)

    def apply(self, old, acc):
        return acc.mean if acc.count > 0 else old


class Mean64(Mean):
    """Too wide for an atomic."""

    value = np.float64
    accumulator = {"mean": np.float64, "count": np.int32}  # noqa: RUF012

    def gather(self, src):
        return src, 1


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param(Largest, 1, marks=pytest.mark.full),
        pytest.param(Largest64, 2, marks=pytest.mark.full),
        (Mean, 2),
        pytest.param(Mean64, None, marks=pytest.mark.full),
    ],
)
def test_a_monoid_of_ones_own_is_replicated_if_it_fits_a_word(kind, words):
    kernels = linked(kind())
    assert can_replicate(bound(kind())) == (words is not None)
    assert ("gather_replicated" in kernels) == (words is not None)
    assert not any(map(ptx.calls, kernels.values()))
    assert not ptx.locals_of(kernels["gather_segmented"])
    if words:
        found = set(ptx.atomics(kernels["gather_replicated"], "shared"))
        assert found == {f"cas.b{32 * words}", "add.u64"}


class Keywords(gp.VertexProgram):
    """Names that are keywords in C++ or used in the kernels; none may clash there."""

    delete: float = 0.5
    double: int = 3
    register: float = 2.0
    template: gp.PerVertex = 1.0
    struct: gp.PerVertex = 0.0
    FULL_MASK: float = 1.0

    value = {"this": np.float32, "int": np.int64, "new": np.float32}  # noqa: RUF012
    accumulator = {"union": np.float32, "out0": np.float32}  # noqa: RUF012
    sum = gp.add
    total = {"volatile": float, "namespace": float}  # noqa: RUF012
    reports = {"operator": float, "long": int, "value": gp.program.VertexId}  # noqa: RUF012

    def init(self, id, struct):
        return struct, id, self.FULL_MASK

    def gather(self, src, edge, dst):
        return src.this * self.delete + dst.new, edge

    def apply(self, old, acc, template, total):
        return acc.union * template + acc.out0 / self.register, old.int + self.double, total.namespace

    def aggregate(self, new, old):
        return new.this - old.this, new.new

    def result(self, value, struct, id):
        return value.this + struct, value.int, id


@pytest.mark.full
@pytest.mark.parametrize("weights", mostly_full([None, "int64", "float32"], "int64"))
def test_names_may_be_keywords_of_another_language(weights):
    kernels = linked(Keywords(template=np.arange(3.0)), weights)
    assert "gather_replicated" in kernels
    assert not any(map(ptx.calls, kernels.values()))


class Everything(gp.VertexProgram):
    """Every function, asking for everything."""

    scale: float = 0.5
    query: gp.program.VertexId = 0
    weight: gp.PerVertex = 1.0

    value = {"x": np.float32, "seen": np.int32}  # noqa: RUF012
    accumulator = np.float32
    sum = gp.max
    total = {"change": float, "count": int, "most": np.float32}  # noqa: RUF012
    reports = float

    def init(self, id, n, in_degree, out_degree, weight):
        return weight * in_degree / (out_degree + n), 1 if id == self.query else 0

    def frontier(self, value, id, n, in_degree, out_degree, weight):
        return value.seen != 0 or out_degree > in_degree

    def prepare(self, value, active, id, n, in_degree, out_degree, weight):
        return value.x if active else -value.x, value.seen + 1

    def gather(self, src, edge, dst, src_id):
        return src.x * edge if src_id != dst.seen else self.identity

    def apply(self, old, acc, total, id, n, in_degree, out_degree, weight):
        return acc * weight + total.most - total.change / n, old.seen + total.count

    def activate(self, new, old):
        return abs(new.x - old.x) > self.scale

    def aggregate(self, new, old, id, n, in_degree, out_degree, weight):
        return abs(new.x - old.x), 1, new.x * weight

    def result(self, value, id, n, in_degree, out_degree, weight):
        return value.x * weight

    def priority(self, value):
        return value


def test_every_function_may_ask_for_everything():
    program = Everything()
    program.__class__.priority = None  # for programs that relax only
    kernels = linked(program, "float32")
    assert not any(map(ptx.calls, kernels.values()))
    assert ptx.doubles(kernels["gather_segmented"]) == []
    assert {name.split(".")[0] for name in ptx.doubles(kernels["apply_vertices"])} <= {"ld", "st", "add", "mov", "cvt"}


FUNCTIONS = (
    "np.tanh(x)", "np.sqrt(x)", "np.exp(x)", "np.expm1(x)", "np.log(x)", "np.log1p(x)", "np.log2(x)", "np.abs(x)",
    "np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.sign(x)", "np.square(x)", "np.minimum(x, y)", "np.maximum(x, y)",
    "np.fmax(x, y)", "np.hypot(x, y)", "np.power(x, y)", "np.copysign(x, y)", "np.fmod(x, y)", "np.arctan2(x, y)",
    "x if np.isnan(y) else y", "x if np.isfinite(y) else y", "x if np.isinf(y) else y", "math.exp(x)", "math.sqrt(x)",
    "math.log(x)", "math.tanh(x)", "math.erf(x)", "math.pow(x, y)", "math.fabs(x)", "x if math.isnan(y) else y",
    "abs(x)", "min(x, y)", "max(x, y)", "x ** 2", "float(int(x))", "helper(x)",
)  # fmt: skip


def helper(x):
    return math.sqrt(abs(x))


def applying(texts, dtype=np.float32):
    """A program whose `apply` sums these expressions of the old value `x` and the sum `y`."""
    space = {"np": np, "math": math, "helper": helper}
    exec(
        f"def apply(self, old, acc):\n    x, y = old, acc\n    return {' + '.join(f'({text})' for text in texts)}",
        space,
    )
    return type("Applying", (Sum,), {"value": dtype, "apply": space["apply"]})()


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.full)])
def test_functions_of_math_and_numpy(dtype):
    """One program uses all functions; in float32 none of them computes in float64."""
    kernels = linked(applying(FUNCTIONS, dtype))
    assert {name for name, lines in kernels.items() if ptx.calls(lines)} <= {"apply_vertices", "gather_replicated"}
    assert not ptx.locals_of(kernels["gather_segmented"])
    assert bool(ptx.doubles(kernels["apply_vertices"])) == (dtype is np.float64)


@pytest.mark.parametrize("text", ["np.rint(x)", "np.logaddexp(x, y)"])
def test_what_no_gpu_compiles_is_said(text):
    with pytest.raises(ProgramError, match=r"^Applying\.apply cannot be compiled for a GPU: .*; .*device='cpu'$"):
        compiler.link(bound(applying([text])), "sm_90", "ptx")


def test_a_monoid_that_no_gpu_compiles_is_said():
    class Strange(Sum):
        sum = gp.Monoid(lambda left, right: np.logaddexp(left, right), -math.inf)

    with pytest.raises(ProgramError, match=r"^Strange\.sum cannot be compiled for a GPU: .*device='cpu'$"):
        compiler.link(bound(Strange()), "sm_90", "ptx")


@pytest.mark.full
def test_the_stand_in_for_a_device_is_removed():
    """numba-cuda asks the GPU for its architecture; a stand-in answers, during a compilation only."""
    from numba.cuda import dispatcher

    asks = dispatcher.get_current_device
    compiler.link(bound(Sum()), "sm_90", "ptx")
    with pytest.raises(ProgramError):
        compiler.link(bound(applying(["np.rint(x)"])), "sm_90", "ptx")
    assert dispatcher.get_current_device is asks


@pytest.mark.parametrize("architecture", ["sm_30", "sm_990"])
def test_an_architecture_that_compilers_do_not_know(architecture):
    with pytest.raises(DeviceError, match=rf"^no code can be made for {architecture} \(.*arch.*\); .*device='cpu'"):
        compiler.link(bound(Sum()), architecture, "cubin")


class Levels(gp.VertexProgram):
    """A user's own search, with the text of `gp.apps.BFS`."""

    source: gp.VertexId

    value = np.int32
    sum = gp.min
    reports = gp.apps.BFS.reports

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src + 1 if src != self.identity else src

    def done(self, acc, old):
        return old != self.identity or acc != self.identity

    def result(self, value, id, parent):
        return (value if value != self.identity else -1, id if id == self.source else parent)


class Lengths(gp.VertexProgram):
    """A user's own shortest paths, with the text of `gp.apps.SSSP`."""

    source: gp.VertexId

    value = np.int64
    sum = gp.min
    monotone = True

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return src + edge if src <= self.identity - edge else self.identity

    def priority(self, value):
        return value


@pytest.mark.full
@pytest.mark.parametrize(("own", "library"), [(Levels(0), gp.apps.BFS(0)), (Lengths(0), gp.apps.SSSP(0))])
def test_a_users_copy_of_a_search_is_the_same_code(own, library):
    graph, codes = gp.from_edges([0, 1], [1, 2], np.ones(2, np.int32), directed=False), []
    for program in own, library:
        given = bind(program, graph)
        narrows = narrow.may_narrow(given, graph)
        assert narrows == (given.value == np.int64)
        codes.append(compiler.link(narrow.narrowed(given) if narrows else given, "sm_90", "ptx"))
    assert codes[0] == codes[1]


def test_a_program_on_a_part_of_a_graph():
    """It reads the numbers of sources in the undivided graph, and aggregates own vertices only."""
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    part = cut_out(graph, Cuts(np.array([0, 1, 3]), np.zeros((0, 2), np.int64)), 1)
    text = compiler.link(bind_on_part(Sees(root=0), part.graph), "sm_75", "ptx").decode()
    assert ".extern .func" not in text
    assert {"gather_segmented", "apply_vertices"} <= set(ptx.instructions(text))
