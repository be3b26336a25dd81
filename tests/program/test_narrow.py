"""Values of 64 bits that a run stores in 32."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.program import bind, narrow
from garaph_py.program.dtypes import record_class
from garaph_py.program.functions import functions
from garaph_py.runtime import carry_out as carrying_out
from garaph_py.runtime import plan as planning
from garaph_py.runtime import run as running
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from tests.support import twins
from tests.support.cases import mostly_full

NUMBERS = st.one_of(
    st.integers(narrow.LEAST, narrow.MOST),
    st.integers(-8, 8).flatmap(lambda near: st.sampled_from([near, near + narrow.TOO_LARGE, near + narrow.TOO_SMALL])),
    st.sampled_from([narrow.LEAST, narrow.LEAST + 1, narrow.MOST - 1, narrow.MOST]),
)


class Paths(gp.VertexProgram):
    """A user's own shortest paths."""

    start: gp.VertexId
    value = np.int64
    sum = gp.min
    monotone = True

    def init(self, id):
        return 0 if id == self.start else self.identity

    def frontier(self, id):
        return id == self.start

    def gather(self, src, edge):
        return src + edge if src <= self.identity - edge else self.identity


def edges(far=1):
    """A path of three edges, and a detour over a long one."""
    return gp.from_edges([0, 1, 2, 0], [1, 2, 3, 3], weights=np.array([1, 2, far, 1 << 40]), vertices=range(5))


@given(NUMBERS)
def test_a_number_that_fits_is_kept(x):
    kept = int(narrow.widened(narrow.stored(x)))
    fits = x in (narrow.LEAST, narrow.MOST) or narrow.TOO_SMALL < x < narrow.TOO_LARGE
    assert kept == x if fits else narrow.stored(x) in (narrow.TOO_SMALL, narrow.TOO_LARGE)


@given(NUMBERS, NUMBERS)
def test_order_is_kept(x, y):
    assert (narrow.stored(min(x, y))) == min(narrow.stored(x), narrow.stored(y))


@pytest.mark.parametrize("src", [0, 7, narrow.TOO_LARGE - 1, narrow.TOO_LARGE, narrow.STORED_MOST, narrow.TOO_SMALL])
@pytest.mark.parametrize("edge", [0, 1, 1 << 40])
def test_a_source_sends_what_would_be_gathered_from_it(src, edge):
    bound = narrow.narrowed(bind(gp.apps.SSSP(0), edges()))
    made, parameters = functions(bound), record_class(bound.parameters.dtype.names)(*bound.parameters[0].item())
    gathered = made.gather(parameters, src, edge, src, 0)
    assert made.send(parameters, made.of_source(src), edge, 0) == gathered


class TestMayNarrow:
    def test_if_order_decides(self):
        graph = edges()
        for program in (gp.apps.SSSP(0), gp.apps.SSWP(0), Paths(0)):
            assert narrow.may_narrow(bind(program, graph), graph)

    def test_not_without_the_promise(self):
        class Other(Paths):
            monotone = False

        assert not narrow.may_narrow(bind(Other(0), edges()), edges())

    def test_not_if_values_are_narrow_or_floats(self):
        for program in (gp.apps.BFS(0), gp.apps.PageRank()):
            assert not narrow.may_narrow(bind(program, edges()), edges())
        lengths = gp.from_edges([0], [1], weights=[0.5])
        assert not narrow.may_narrow(bind(gp.apps.SSSP(0), lengths), lengths)

    def test_not_if_the_result_is_the_programs_own(self):
        class Halved(Paths):
            reports = np.int64

            def result(self, value):
                return value // 2

        assert not narrow.may_narrow(bind(Halved(0), edges()), edges())


@pytest.fixture
def tries(monkeypatch):
    """Whether each run was narrowed."""
    made = []
    carry_out = running.carry_out

    def noted(bound, *others):
        made.append(bound.is_narrowed)
        return carry_out(bound, *others)

    monkeypatch.setattr(running, "carry_out", noted)
    return made


@pytest.mark.parametrize(
    "program", [gp.apps.SSSP(0), pytest.param(Paths(0), marks=pytest.mark.full)], ids=["SSSP", "Paths"]
)
def test_numbers_that_end_within_32_bits_stay_there(program, tries):
    result = gp.run(program, edges(), device="cpu")
    assert result.values.dtype == np.int64
    assert result.values.tolist() == [0, 1, 3, 4, narrow.MOST]
    assert tries == [True]


@pytest.mark.parametrize("far", [1 << 31, narrow.TOO_LARGE - 3, 1 << 41])
def test_others_are_computed_again_once_for_a_graph(far, tries):
    graph = edges(far)
    expected = [0, 1, 3, min(far + 3, 1 << 40), narrow.MOST]
    for _ in range(2):
        assert gp.run(gp.apps.SSSP(0), graph, device="cpu").values.tolist() == expected
    assert tries == [True, False, False]
    graph.release()
    gp.run(gp.apps.SSSP(0), graph, device="cpu")
    assert tries[3:] == [True, False]


def test_what_begins_the_run_is_chosen_once(monkeypatch):
    asked, choose = [], planning.executor_of

    def noted(bound, *others):
        asked.append(bound.is_narrowed)
        return choose(bound, *others)

    for module in carrying_out, planning:
        monkeypatch.setattr(module, "executor_of", noted)
    for mode, is_narrow in ("pull", False), ("auto", True):
        given = narrow.narrowed(bind(gp.apps.SSSP(0), edges())), edges(), RunOptions(mode=mode)
        bound, chosen = carrying_out.planned(*given, Machine.here())
        assert (bound.is_narrowed, chosen.executor) == (is_narrow, "cpu")
        assert asked == [True]
        asked.clear()


@pytest.mark.full
def test_runs_that_others_continue_or_end_keep_64_bits(tmp_path, tries):
    gp.run(gp.apps.SSSP(0), edges(), device="cpu", iterations=2)
    gp.run(gp.apps.SSSP(0), edges(), device="cpu", checkpoint=tmp_path / "kept").close()
    assert tries == [False, False]


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "mode", "narrows"),
    [
        ("auto", "auto", True), ("auto", "push", True), ("auto", "pull", False), ("auto", "notify-pull", False),
        ("garaph", "auto", False),
    ],
)  # fmt: skip
def test_a_cpu_that_only_pulls_keeps_64_bits(engine, mode, narrows, monkeypatch):
    planned, used = carrying_out.planned, []

    def noted(*given):
        bound, plan = planned(*given)
        used.append(bound.is_narrowed)
        return bound, plan

    monkeypatch.setattr(carrying_out, "planned", noted)
    result = gp.run(gp.apps.SSSP(0), edges(), device="cpu", options=gp.Options(mode=mode, engine=engine))
    assert result.values.tolist() == [0, 1, 3, 4, narrow.MOST]
    assert used == [narrows]


@pytest.mark.full
def test_the_widest_paths_begin_with_an_extreme(tries):
    result = gp.run(gp.apps.SSWP(0), edges(), device="cpu")
    assert result.values.tolist() == [narrow.MOST, 1, 1, 1 << 40, 0]
    assert tries == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("mode", mostly_full(["pull", "push", "notify-pull"], "pull"))
@pytest.mark.parametrize("sync", [True, pytest.param(False, marks=pytest.mark.full)])
def test_all_modes_agree(mode, sync, monkeypatch):
    monkeypatch.setattr(carrying_out, "may_push", lambda *_: True)  # a CPU that only pulls would keep 64 bits
    given = twins.skewed(4, 300, 2000)
    weights = np.random.default_rng(1).integers(0, 1 << 33, len(given.sources))
    for top in (1 << 10, 1 << 33):
        graph = gp.from_edges(given.sources, given.targets, weights=weights % top, vertices=range(given.n))
        options = gp.Options(mode=mode, sync=sync)
        found = gp.run(gp.apps.SSSP(0), graph, device="cpu", options=options, verify=True).values
        assert (found == gp.run(gp.apps.SSSP(0), graph, device="cpu", iterations=given.n).values).all()


class Halves(Paths):
    """Monotone, but `gather` may return something better than `src`: half of a number that is not large."""

    def init(self, id):
        return (1 << 40) + id

    def frontier(self, id):
        return True

    def gather(self, src):
        return src if src > 1 << 35 else src // 2


@pytest.mark.full
def test_no_value_that_fits_descends_from_one_that_does_not(tries):
    graph = gp.from_edges([0, 1], [1, 2], directed=False)
    assert gp.run(Halves(0), graph, device="cpu").values.tolist() == [1 << 40] * 3
    assert tries == [True, False]
