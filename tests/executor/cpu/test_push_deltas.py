"""Push in delta form: active vertices add what their changes make of their contributions to their targets' sums."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import DELTAS_THRESHOLD
from garaph_py.errors import ParameterError, ProgramError
from garaph_py.executor.memory import vertex_bytes
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.graph.build import from_numbered_edges
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support.cases import mostly_full
from tests.support.delta_programs import Core, Influence, Single, Steps, Votes, edges_of, frontiers, graph_of, modes

from ...support.runs import run_with
from ...support.stored_graphs import opened, with_memory

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


@pytest.fixture(scope="module")
def graph():
    return graph_of(edges_of())


@pytest.mark.full
def test_a_forced_push_follows_one_pull_and_agrees_with_pulls(graph):
    pull, push = (run_with(Core(), graph, mode=mode, threads=3) for mode in (PULL, PUSH))
    assert pull.values.tobytes() == push.values.tobytes()
    assert 0 < pull.values.sum() < graph.n
    assert frontiers(pull) == frontiers(push)
    assert modes(push) == [PULL] + [PUSH] * (len(modes(pull)) - 1)
    assert [row.edges for row in push.stats.iterations[1:]] == [
        round(row.f * graph.m) for row in push.stats.iterations[1:]
    ]


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("program", [pytest.param(Core(), marks=pytest.mark.full), Votes()], ids=["core", "votes"])
def test_integers_are_the_same_after_every_iteration(program, directed, encoding):
    graph = graph_of(edges_of(), directed)
    for iterations in range(5):
        how = {"iterations": iterations, "encoding": encoding}
        pull = run_with(program, graph, mode=PULL, **how)
        for threads in (1, 2, 7):
            push = run_with(program, graph, mode=PUSH, threads=threads, **how)
            assert pull.values.tobytes() == push.values.tobytes()
            assert frontiers(pull) == frontiers(push)


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize(
    ("program", "rounding"),
    [
        (Influence(), 1e-9), pytest.param(Single(), 1e-3, marks=pytest.mark.full),
        pytest.param(gp.apps.DeltaPageRank(tolerance=1e-9), 1e-8, marks=pytest.mark.full),
    ],
    ids=["influence", "single", "ranks"],
)  # fmt: skip
@pytest.mark.parametrize("directed", [True, False])
def test_floats_agree_within_rounding(program, rounding, directed):
    graph = graph_of(edges_of(weights="float32"), directed)
    expected = run_with(program, graph, mode=PULL).column()
    for mode, threads in ((PUSH, 1), (PUSH, 4), ("auto", 4)):
        push = run_with(program, graph, mode=mode, threads=threads)
        assert (PUSH in modes(push)) or mode != PUSH
        np.testing.assert_allclose(push.column(), expected, rtol=rounding)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "packed"))
@pytest.mark.parametrize("program", [Core(), pytest.param(Votes(), marks=pytest.mark.full)])
def test_edges_on_disk(graph, tmp_path, encoding, program, two_cores):
    store.save(graph, tmp_path / "g", encoding=encoding)
    stored = opened(tmp_path / "g", room=1 << 24)
    push, pull = (run_with(program, stored, mode=mode, page_edges=2000) for mode in (PUSH, PULL))
    assert PUSH in modes(push)
    assert push.values.tobytes() == pull.values.tobytes()


@pytest.mark.parametrize("shape", ["empty", "no edges", "star", "path", "loops"])
def test_graphs_of_all_shapes(shape):
    sources, targets, n = {
        "empty": ([], [], 0), "no edges": ([], [], 5), "star": ([0] * 99 + [*range(1, 100)], [*range(1, 100)] * 2, 100),
        "path": ([*range(199)], [*range(1, 200)], 200), "loops": ([0, 1, 1, 2], [0, 1, 2, 2], 70),
    }[shape]  # fmt: skip
    graph = from_numbered_edges(np.array(sources, np.uint32), np.array(targets, np.uint32), n, None)
    for k in (1, 2):
        push, pull = (run_with(Core(k), graph, mode=mode) for mode in (PUSH, PULL))
        assert push.values.tobytes() == pull.values.tobytes()
        assert frontiers(pull) == frontiers(push)


@pytest.mark.full
def test_auto_pushes_once_a_pull_has_made_the_sums(graph):
    rows = run_with(Core(), graph).stats.iterations
    few = [row.number for row in rows if row.f <= DELTAS_THRESHOLD]
    assert [rows[number].mode for number in few] == [PULL] + [PUSH] * (len(few) - 1)
    assert "sums that later iterations push to" in rows[few[0]].why
    assert run_with(Core(), graph).values.tobytes() == run_with(Core(), graph, engine="garaph").values.tobytes()


@pytest.mark.full
def test_tiles_make_sums_too():
    graph = graph_of(edges_of())
    expected = run_with(Core(), graph, mode=PULL_TILED)
    run = run_with(Core(), graph, threads=1)
    assert PULL_TILED in modes(run)
    assert PUSH in modes(run)
    assert run.values.tobytes() == expected.values.tobytes()


@pytest.mark.full
def test_what_a_vertex_withholds_is_pushed_when_it_becomes_active():
    clock = gp.from_edges([0, 0, 1], [0, 1, 2])
    for mode in (PUSH, PULL):
        run = run_with(Steps(pace=[1, 4, 1000]), clock, mode=mode, iterations=9)
        assert run.values["count"][:2].tolist() == [9, 9]
        assert run.values["sum"].tolist() == [8, 8, 8]


@pytest.mark.full
def test_a_resumed_run_begins_with_a_pull(graph, tmp_path):
    class Stop(Exception):
        pass

    def stop(event):
        if isinstance(event, gp.events.Checkpoint) and event.iterations >= 2:
            raise Stop

    how = {"mode": PUSH, "checkpoint": tmp_path / "c"}
    expected = run_with(Core(), graph, mode=PULL)
    with pytest.raises(Stop):
        run_with(Core(), graph, checkpoint_every=1, on_event=stop, **how)
    with run_with(Core(), graph, resume=True, **how) as run:
        assert run.stats.resumed == 2
        assert modes(run)[:2] == [PULL, PUSH]
        assert run.values.tobytes() == expected.values.tobytes()


@pytest.mark.full
def test_floats_are_not_pushed_in_deterministic_runs(graph):
    assert PUSH in modes(run_with(Core(), graph, mode=PUSH, deterministic=True))
    assert PUSH not in modes(run_with(Influence(), graph, deterministic=True))
    for how in ({"deterministic": True}, {"sync": False}):
        with pytest.raises(ParameterError, match=r"Influence pushes what changes add.*in no fixed order, and in synch"):
            run_with(Influence(), graph, mode=PUSH, **how)


@pytest.mark.full
@pytest.mark.parametrize(("bytes_a_vertex", "pushes"), [(31, False), (33, True)])
def test_edges_come_first_where_memory_is_bounded(graph, bytes_a_vertex, pushes):
    vertices = vertex_bytes(bind(Core(), graph), graph, arrays=2)  # and the sums take 4 bytes a vertex
    bounded = with_memory(graph, vertices + bytes_a_vertex * graph.n)
    assert (PUSH in modes(run_with(Core(), bounded))) == pushes
    assert PUSH in modes(run_with(Core(), bounded, mode=PUSH))


@pytest.mark.full
def test_an_asynchronous_run_does_not_push(graph):
    run = run_with(Core(), graph, sync=False)
    assert PUSH not in modes(run)
    np.testing.assert_array_equal(run.values, run_with(Core(), graph).values)


@pytest.mark.full
def test_a_total_needs_all_vertices(graph):
    class Counting(Core):
        total = int

        def aggregate(self, new):
            return new

    assert set(modes(run_with(Counting(), graph))) <= {PULL, NOTIFY_PULL}
    with pytest.raises(ParameterError, match=r"Counting cannot push;.*a function delta, and no done, prepare or aggre"):
        run_with(Counting(), graph, mode=PUSH)


@pytest.mark.full
def test_another_gather_has_another_delta(graph):
    class Doubled(Core):
        def gather(self, src):
            return 2 * src

    class Again(Doubled):
        def delta(self, new, old):
            return 2 * (new - old)

    class Never(Core):
        delta = None

    assert PUSH in modes(run_with(Again(), graph))
    for program in (Doubled(), Never()):
        assert PUSH not in modes(run_with(program, graph))
        with pytest.raises(ParameterError, match="cannot push"):
            run_with(program, graph, mode=PUSH)
    assert run_with(Doubled(), graph).values.tobytes() == run_with(Again(), graph).values.tobytes()


def test_debug_runs_compare_delta_with_gather():
    class Wrong(Core):
        def gather(self, src, edge):
            return src * edge

        def delta(self, new, old):
            return new - old

    small = graph_of(edges_of(n=60, m=200))
    assert run_with(Core(), small, debug=True).values.tobytes() == run_with(Core(), small).values.tobytes()
    run_with(replace(Influence(), tolerance=1e-3), small, debug=True)
    with pytest.raises(
        ProgramError, match=r"Wrong\.delta returned -1, but gather's results differ by -\d+; at the edge"
    ):
        run_with(Wrong(), small, debug=True)
