from __future__ import annotations

import dataclasses
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster.source import SentProgram, received, sent
from garaph_py.errors import ClusterError, ProgramError
from garaph_py.program.part import by_numbers

HALF = np.float32(0.5)
FAR = math.inf


def damped(x):
    return x * HALF + math.sqrt(4.0)


class Base(gp.VertexProgram):
    rate: float = 0.25
    value = np.float64
    sum = gp.add

    def init(self, n):
        return 1.0 / n

    def gather(self, src):
        return damped(src)


class Mine(Base):
    start: gp.VertexId = 0
    weight: gp.PerVertex = 1.0
    kind: type = np.float64

    def apply(self, acc, weight):
        return acc * self.rate * weight if acc < FAR else acc


def again(program):
    """The program as a process gets it that has none of the names of this module."""
    return received(sent(program))


@pytest.mark.parametrize("personalization", [None, {"a": 1.0}, {"a": 1.0, "b": 2.0}])
@pytest.mark.parametrize("kind", [gp.apps.PageRank, gp.apps.DeltaPageRank])
@pytest.mark.parametrize("weights", [None, [2.0, 0.5]])
def test_what_a_program_becomes_for_a_graph_is_imported(kind, personalization, weights):
    program = by_numbers(kind(personalization=personalization), gp.from_edges(["a", "b"], ["b", "c"], weights))
    made = again(program)
    assert type(made) is type(program)
    for field in dataclasses.fields(program):
        assert np.array_equal(getattr(made, field.name), getattr(program, field.name))


@pytest.mark.parametrize("make", [
    lambda: gp.apps.PageRank(damping=0.5, dtype=np.float32), lambda: gp.apps.SSSP(source="b"),
    lambda: gp.apps.BFS(source="b"), lambda: gp.apps.ConnectedComponents(),
])  # fmt: skip
def test_programs_of_the_library_are_imported(make):
    program = make()
    made = again(program)
    assert type(made) is type(program)
    for field in dataclasses.fields(program):
        assert getattr(made, field.name) == getattr(program, field.name)


def test_a_class_comes_with_all_that_it_refers_to():
    graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    made = again(Mine(rate=0.75, start=1))
    assert (made.rate, made.start, made.kind) == (0.75, 1, np.float64)
    assert type(made).__module__ != Mine.__module__
    names = vars(sys.modules[type(made).__module__])
    assert names["damped"] is not damped
    assert names["HALF"] == HALF
    assert type(names["HALF"]) is np.float32
    result = gp.run(made, graph, iterations=4, debug=True)
    expected = gp.run(Mine(rate=0.75, start=1), graph, iterations=4, debug=True)
    np.testing.assert_array_equal(result.values, expected.values)


def test_a_class_in_a_function_takes_its_closure_along():
    bonus = 2.5

    class Inner(Base):
        def apply(self, acc):
            return acc + bonus

    made = again(Inner())
    assert made.apply(1.0) == 3.5


def test_the_newest_constants_count(monkeypatch):
    module = sys.modules[__name__]
    again(Mine())
    monkeypatch.setattr(module, "FAR", 7.0)
    made = again(Mine())
    assert vars(sys.modules[type(made).__module__])["FAR"] == 7.0


def test_workers_of_one_process_make_a_class_at_the_same_time():
    text = "import time\ntime.sleep(0.2)\nimport garaph_py as gp\nclass Late(gp.VertexProgram):\n    pass\n"
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(received, [SentProgram("Late", text, {}, {})] * 2)
    assert type(one) is type(other)


def test_a_class_without_source_is_refused():
    names = {"gp": gp, "np": np, "__name__": "nowhere"}
    exec("class Typed(gp.VertexProgram):\n    value = np.int32\n    def init(self): return 0\n"
         "    def gather(self, src): return src\n    sum = gp.min\n", names)  # fmt: skip
    with pytest.raises(
        ProgramError, match=r"the source of Typed, which cannot be found; define it in a file or a notebook"
    ):
        sent(names["Typed"]())


THING = object()


def test_what_is_no_plain_data_is_refused_by_name():
    class Odd(Base):
        def apply(self, acc):
            return acc if THING else 0.0

    with pytest.raises(ProgramError, match=r"THING, which Odd refers to, is <object .* cannot be sent to a cluster"):
        sent(Odd())


def test_a_package_that_the_worker_lacks_is_named():
    program = SentProgram("A", "import no_such_package_here\n", {}, {})
    with pytest.raises(ClusterError, match=r"a worker cannot make A: .*no_such_package_here.*client.upload_file"):
        received(program)
