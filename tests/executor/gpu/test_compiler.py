"""Kernels linked without a GPU: every library program, for every architecture, in its own precision, and cached."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import apps
from garaph_py.apps.many_bfs import ManyBFS
from garaph_py.executor import arguments
from garaph_py.executor.gpu import compiler, header, interface, rows, task, ufuncs
from garaph_py.native import cache, references
from garaph_py.native.references import fingerprint
from garaph_py.program import bind, functions
from garaph_py.program.columns import MOST_COLUMNS, joined, pushing_rows
from tests.support import ptx
from tests.support.cases import mostly_full

pytestmark = pytest.mark.cuda

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")
COMMON = {
    "end_pull",
    "mark_starts",
    "rank_edges",
    "measure_runs",
    "pack_runs",
    "initialize",
    "prepare_values",
    "gather_segmented",
    "gather_packed",
    "sum_hubs",
    "apply_vertices",
    "report",
    "collect",
    "find_not_finite",
    "find_shifts",
    "reorder_edges",
    "place_numbers",
}
REPLICATED = {"initialize_sums", "gather_replicated"}
TREES = {
    "plant", "hook_first", "link_second", "link_short", "link_edges", "flatten", "find_largest",
    "link_received", "sum_trees", "spread_sums",
}  # fmt: skip
"""The kernels of programs whose answer union-find gives."""
LISTS = {
    "choose", "list_frontier", "reverse_values", "push_vertices", "push_listed", "push_pieces", "cut_degrees",
    "push_shadows", "count_partitions", "list_partitions", "push_edge_list", "scan_updated", "take_frontier",
}  # fmt: skip
PUSHES = {"push_queue", "push_queue_packed", "push_few", "push_few_packed", "relax_received"}
DELTAS = {
    "push_deltas", "push_deltas_packed", "push_few_deltas", "push_few_deltas_packed", "apply_in_turn", "apply_notified",
}  # fmt: skip
UNTIL_DONE = {"gather_until_done", "gather_until_done_packed"}
LEVELS = {"begin_searches", "note_levels", "spread_levels"}
PARENTS = {
    "find_parents", "find_parents_packed", "find_pushers", "push_parents", "push_parents_packed", "weigh_classes",
}  # fmt: skip


def expected_kernels(name):
    """The kernels of a program of `LIBRARY`."""
    program = of(name)
    own = TREES if program.copies_sources else set()
    own |= LISTS if program.is_relaxation or program.pushes_deltas else set()
    own |= PUSHES if program.is_relaxation else set()
    own |= DELTAS if program.pushes_deltas else set()
    return COMMON | REPLICATED | own | (UNTIL_DONE | PARENTS if name == "BFS" else set())


TOTALS = {"initialize", "apply_vertices", "gather_replicated", "end_pull"}
"""Kernels that sum what `aggregate` returns, in 64 bits whatever the program's float type, or convert that sum."""


def exact():
    yield "BFS", apps.BFS(0), None
    yield "ConnectedComponents", apps.ConnectedComponents(), None
    for program in (apps.SSSP(0), apps.SSWP(0)):
        for weights in ("int32", "float32"):
            yield f"{type(program).__name__}-{weights}", program, weights


def floats(dtype):
    yield apps.PageRank(dtype=dtype)
    yield apps.DeltaPageRank(dtype=dtype)
    yield apps.NeuralNetwork(0.5, dtype=dtype)
    yield apps.HeatSimulation(0.5, dtype=dtype)
    yield apps.CircuitSimulation(0.5, dtype=dtype)
    yield apps.PenalizedHittingProbability(0, dtype=dtype)


LIBRARY = {name: (program, weights) for name, program, weights in exact()} | {
    f"{type(program).__name__}-{dtype}": (program, dtype)
    for dtype in ("float32", "float64")
    for program in floats(np.dtype(dtype))
}
for dtype in ("float32", "float64"):
    LIBRARY[f"PageRank-unweighted-{dtype}"] = apps.PageRank(dtype=np.dtype(dtype)), None


EVERY_COMMIT = [("BFS", 0), ("ConnectedComponents", 1), ("DeltaPageRank-float32", 3)]
"""Programs with all kernels between them, and the numbers of architectures."""


def bound(program, weights=None):
    """`program` on a graph of three vertices; undirected, if that is what it gathers over."""
    values = None if weights is None else np.ones(3, weights)
    return bind(program, gp.from_edges([0, 1, 2], [1, 2, 0], values, directed=program.gathers == "in"))


def of(name):
    return bound(*LIBRARY[name])


def test_all_programs_are_here():
    assert {type(program).__name__ for program, _ in LIBRARY.values()} == set(apps.__all__)


@pytest.fixture(scope="module")
def compiled_once():
    """Functions that programs share, such as defaults, are compiled once an architecture: that is half the time."""
    known, compile_function = {}, compiler.compile_function

    def remembered(program, wrapper, architecture):
        types = wrapper.arguments, wrapper.returns
        key = fingerprint(wrapper.name, wrapper.function, types, architecture)
        if key not in known:
            known[key] = compile_function(program, wrapper, architecture)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "compile_function", remembered)
        yield


@pytest.mark.usefixtures("compiled_once")
@pytest.mark.parametrize(
    ("name", "architecture"),  # each for two of them, in turns: for all it takes a minute
    [
        pytest.param(name, ARCHITECTURES[k], marks=() if (name, k) in EVERY_COMMIT else pytest.mark.full)
        for turn, name in enumerate(LIBRARY)
        for k in (turn % 2, turn % 2 + 2)
    ],
)
def test_functions_are_inlined_and_keep_their_precision(name, architecture):
    program = of(name)
    text = compiler.link(program, architecture, "ptx").decode()
    assert f".target {architecture}" in text
    kernels = ptx.instructions(text)
    assert set(kernels) == expected_kernels(name)
    for lines in kernels.values():
        assert not ptx.calls(lines)
        assert not ptx.locals_of(lines)
    doubles = {kernel: ptx.doubles(lines) for kernel, lines in kernels.items()}
    if name.endswith("float64"):
        assert doubles["gather_segmented"]
    elif program.total is None:
        assert not any(doubles.values())
    else:
        assert_only_totals_are_wide(kernels, doubles)


def assert_only_totals_are_wide(kernels, doubles):
    """64-bit floats are made from 32-bit ones, moved and added, after the gather: no work on values."""
    assert {kernel for kernel, found in doubles.items() if found} <= TOTALS
    names = {name for found in doubles.values() for name in found}
    kinds = {name.split(".")[0] for name in names}
    assert kinds <= {"add", "mov", "selp", "ld", "st", "cvt"}
    narrowed = {"cvt.rn.f32.f64"}  # `end_pull` narrows a 64-bit sum to a 32-bit total
    assert {name for name in names if name.startswith("cvt")} <= {"cvt.f64.f32"} | narrowed
    assert not any(narrowed.intersection(doubles[kernel]) for kernel in TOTALS - {"end_pull"})
    replicated = ptx.operations(kernels["gather_replicated"])
    gathered = max(
        k for k, name in enumerate(replicated) if name.startswith("atom") and name.endswith("shared.add.f32")
    )
    assert all(name.startswith("mov") for name in replicated[:gathered] if ".f64" in name)  # constants, set up early


@pytest.mark.usefixtures("compiled_once")
@pytest.mark.parametrize("name", mostly_full(LIBRARY, "PageRank-float32"))
def test_registers_suffice(name):
    """Each program is tested on one architecture only: PTX does not show registers, and assembling takes time."""
    architecture = ARCHITECTURES[list(LIBRARY).index(name) % len(ARCHITECTURES)]
    code = compiler.link(of(name), architecture, "cubin")
    assert code.startswith(b"\x7fELF")
    frames, registers = ptx.notes(code, ptx.FRAME_SIZE), ptx.notes(code, ptx.REGISTERS)
    assert set(registers) == expected_kernels(name)
    # the assembler prefers a block more a multiprocessor to a few words that are not spilled
    assert frames["gather_segmented"] <= 16
    assert frames["gather_packed"] <= 16
    assert all(frames[kernel] <= 48 for kernel in COMMON | REPLICATED)
    assert registers["gather_segmented"] <= 80  # three blocks of 256 threads a multiprocessor, or more
    assert registers["gather_replicated"] <= 64  # two blocks of 512


def test_values_with_a_bit_for_each_search_have_levels():
    program = ManyBFS(-1, -1)
    graph = gp.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    code = compiler.link(bind(program, graph), "sm_90", "cubin")
    frames, registers = ptx.notes(code, ptx.FRAME_SIZE), ptx.notes(code, ptx.REGISTERS)
    assert set(registers) == COMMON | REPLICATED | LISTS | PUSHES | UNTIL_DONE | LEVELS
    assert all(frames[kernel] == 0 for kernel in LEVELS)


ROWS = set(rows.INSTEAD.values())


@pytest.mark.parametrize(
    ("dtype", "count"),
    [
        (np.float32, 3),  # all columns take ten seconds more
        pytest.param(np.float32, MOST_COLUMNS, marks=pytest.mark.full),
        pytest.param(np.float64, MOST_COLUMNS, marks=pytest.mark.full),
    ],
)
def test_a_lane_has_a_column(dtype, count):
    """All in registers, and few enough: a multiprocessor of 65,536 has 24 warps with 80 registers a thread."""
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    columns = [bind(apps.PageRank(personalization={k % 3: 1}, dtype=dtype), graph) for k in range(count)]
    code = compiler.link(joined(columns), "sm_90", "cubin")
    frames, registers = ptx.notes(code, ptx.FRAME_SIZE), ptx.notes(code, ptx.REGISTERS)
    assert set(registers) == COMMON - set(rows.INSTEAD) | ROWS | REPLICATED
    assert all(frames[kernel] == 0 and registers[kernel] <= 80 for kernel in ROWS)


PUSHES_ROWS = {"choose", "push_queue", "push_queue_packed", "list_frontier", "reverse_values"}


@pytest.mark.parametrize(
    ("program", "weights", "count"),
    [
        (apps.SSSP, "int32", 8),
        pytest.param(apps.SSSP, "float32", 3, marks=pytest.mark.full),
        pytest.param(apps.SSWP, "float64", MOST_COLUMNS, marks=pytest.mark.full),
    ],
)
def test_a_lane_pushes_a_column(program, weights, count):
    columns = [bound(program(k % 3), weights) for k in range(count)]
    code = compiler.link(pushing_rows(joined(columns)), "sm_90", "cubin")
    frames, registers = ptx.notes(code, ptx.FRAME_SIZE), ptx.notes(code, ptx.REGISTERS)
    assert set(registers) == COMMON - set(rows.INSTEAD) | ROWS | REPLICATED | PUSHES_ROWS
    assert all(frames[kernel] == 0 and registers[kernel] <= 80 for kernel in PUSHES_ROWS)


@pytest.mark.full
def test_rows_that_are_no_arrays_have_the_usual_kernels():
    class Uneven(gp.VertexProgram):
        value = {"a": np.int32, "b": np.float64, "c": np.int32}  # noqa: RUF012
        sum = gp.add

        def init(self, id):
            return id, float(id), 1

        def gather(self, src):
            return src

    code = compiler.link(joined([bound(Uneven()), bound(Uneven())]), "sm_90", "cubin")
    assert set(ptx.notes(code, ptx.REGISTERS)) == COMMON | REPLICATED


@pytest.fixture
def links(monkeypatch, tmp_path):
    """An empty cache; the architectures that were linked for, where linking takes no time."""
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "cache"))
    asked = []

    def link(program, architecture, output):
        asked.append(architecture)
        return f"{program.name} for {architecture} as {output}".encode()

    monkeypatch.setattr(compiler, "link", link)
    yield asked
    forget_files()


def forget_files():
    compiler.environment.cache_clear()
    compiler.sources.cache_clear()


def test_a_program_is_linked_once(links):
    program = bound(apps.PageRank())
    heard = []
    code = compiler.cubin(program, "sm_90", heard.append)
    assert code == b"PageRank for sm_90 as cubin"
    assert [event.done for event in heard] == [0, 1]
    assert compiler.cubin(program, "sm_90", heard.append) == code
    assert len(heard) == 2  # nothing is said of what is not compiled
    assert compiler.cubin(bound(apps.PageRank(damping=0.5, tolerance=1e-3)), "sm_90") == code
    assert links == ["sm_90"]


def test_code_is_kept_by_architecture_program_and_types(links):
    class Twice(apps.PageRank):
        def gather(self, src):
            return 2 * src

    known = [(bound(apps.PageRank()), "sm_90"), (bound(apps.PageRank()), "sm_80"), (bound(Twice()), "sm_90")]
    known += [(bound(apps.PageRank(dtype=np.float32)), "sm_90"), (bound(apps.SSSP(0)), "sm_90")]
    known += [(bound(apps.SSSP(0), "int32"), "sm_90"), (bound(apps.SSSP(0), "int64"), "sm_90")]
    for number, item in enumerate(known):
        compiler.cubin(*item)
        assert len(links) == number + 1


FILES = sorted(path.name for path in compiler.folder().glob("*.cu*"))


@pytest.mark.parametrize("file", mostly_full(FILES, "gather_segmented.cu", "edges.cuh"))
def test_code_is_kept_by_the_text_of_kernels(links, monkeypatch, tmp_path, file):
    program = bound(apps.PageRank())
    compiler.cubin(program, "sm_90")
    edited = tmp_path / "kernels"
    edited.mkdir()
    for path in compiler.folder().glob("*.cu*"):
        (edited / path.name).write_text(path.read_text() + ("// edited\n" if path.name == file else ""))
    monkeypatch.setattr(compiler, "folder", lambda: edited)
    forget_files()
    compiler.cubin(program, "sm_90")
    assert len(links) == 2


def test_code_is_kept_by_the_text_of_new_kernels(links, monkeypatch, tmp_path):
    program = bound(apps.PageRank())
    compiler.cubin(program, "sm_90")
    more = tmp_path / "kernels"
    shutil.copytree(compiler.folder(), more)
    (more / "new.cuh").write_text("// new\n")
    monkeypatch.setattr(compiler, "folder", lambda: more)
    forget_files()
    compiler.cubin(program, "sm_90")
    assert len(links) == 2


@pytest.mark.parametrize("module", [compiler, header, interface, task, ufuncs, arguments, functions, references])
def test_code_is_kept_by_the_text_of_modules_that_generate_it(module):
    known = {(Path(gp.__file__).parent / name).resolve() for name in compiler.GENERATING}
    assert Path(module.__file__).resolve().parent in known


def test_code_is_kept_by_the_versions_of_compilers(links, monkeypatch):
    program = bound(apps.PageRank())
    for number, package in enumerate(("none", *compiler.PACKAGES)):
        monkeypatch.setattr(cache, "version", lambda name, new=package: "new" if name == new else "old")
        compiler.environment.cache_clear()
        compiler.cubin(program, "sm_90")
        assert len(links) == number + 1


def test_every_kernel_file_is_used():
    """Followed from the main file, every ``#include`` leads to a file, and every file is reached."""
    program = bound(apps.PageRank())
    texts = {**compiler.sources(), header.NAME: header.header(program, interface.Interface(program))}
    reached, waiting = set(), [compiler.MAIN]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(r'#include "([^"]+)"', texts[name])
    assert reached == set(texts)


def test_no_constant_is_written_twice():
    text = "\n".join(compiler.sources().values())
    for name in header.CONSTANTS:
        assert re.search(rf"\b{name}\b", text)
        assert not re.search(rf"\b{name}\s*=[^=]", text)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"?", lambda data: b""])
def test_a_damaged_entry_is_compiled_anew(links, damage):
    program = bound(apps.BFS(0))
    code = compiler.cubin(program, "sm_90")
    (entry,) = cache.folder().glob("*.o")
    entry.write_bytes(damage(entry.read_bytes()))
    assert compiler.cubin(program, "sm_90") == code
    assert compiler.cubin(program, "sm_90") == code
    assert len(links) == 2


WARM = """
import hashlib, json, sys
import garaph_py as gp
from garaph_py.executor.gpu import compiler
from garaph_py.program import bind

bound = bind(gp.apps.PageRank(damping=0.5), gp.from_edges([0, 1, 2], [1, 2, 0]))
code = compiler.cubin(bound, "sm_90")
slow = [name for name in ("numba", "numba.cuda", "cuda.core", "cuda.bindings") if name in sys.modules]
print(json.dumps([hashlib.sha256(code).hexdigest(), slow]))
"""


@pytest.mark.full
def test_a_warm_start_imports_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path))
    cold, warm = (
        json.loads(subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    )
    assert warm == [cold[0], []]


def test_fields_may_be_called_like_what_describes_a_vertex():
    """Of a source, a number `id` is not `src_id`."""

    class Named(gp.VertexProgram):
        value = {"id": np.int64, "n": np.int64}  # noqa: RUF012
        sum = gp.max

        def init(self, id, n):
            return id, 0

        def gather(self, src, src_id):
            return src.id, src_id

    wrappers = {wrapper.name: wrapper.function for wrapper in interface.Interface(bound(Named())).wrappers}
    assert {"src__id", "src_id"} <= set(wrappers["garaph_gather"].__code__.co_varnames)
