from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.apps.many_bfs import ManyBFS
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.local import connect, exchange, run_of
from garaph_py.cluster.part_run import PartRun, put
from garaph_py.errors import ParameterError
from garaph_py.graph.part import part_of
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.program.part import by_numbers
from garaph_py.runtime.options import RunOptions

OPTIONS = RunOptions(device="cpu", deterministic=True, threads=1)


def opened(program, graph, parts=3, options=OPTIONS):
    """The runs of all parts, connected, and the first totals."""
    cuts, program = cut(graph, parts), by_numbers(program, graph)
    runs = [run_of(program, part_of(graph, cuts, part), options) for part in range(parts)]
    connect(runs)
    return runs, runs[0].total([run.open() for run in runs])


def superstep(runs, totals):
    totals = runs[0].total([run.step(totals) for run in runs])
    exchange(runs)
    return totals


def test_mirrors_have_the_values_of_their_owners():
    graph = gp.rmat(12, seed=1)
    runs, totals = opened(gp.apps.PageRank(), graph)
    for _ in range(3):
        totals = superstep(runs, totals)
        values = np.concatenate([run._state.values[slice(*run.part.own)] for run in runs])
        for run in runs:
            assert np.array_equal(run._state.values, values[run.part.place.numbers])
    for run in runs:
        run.close()


def test_counts_are_those_of_the_undivided_graph():
    graph = gp.rmat(12, seed=1)
    source = graph.ids[int(graph.out_degrees.argmax())]
    records = gp.run(gp.apps.BFS(source), graph, device="cpu", options=gp.Options(deterministic=True)).stats.iterations
    runs, totals = opened(gp.apps.BFS(source), graph)
    for record in records:
        assert totals.active == record.active
        assert totals.active_edges == round(record.f * graph.m)
        totals = superstep(runs, totals)
    assert runs[0].ends(totals, len(records))
    for run in runs:
        run.close()


class Started(ManyBFS):
    """`ManyBFS` whose sources have been reached at first."""

    start: gp.PerVertex

    def init(self, start):
        return start


@pytest.mark.slow
def test_searches_from_many_sources_push_and_pull_as_on_one_machine():
    """The parts know together how many edges a pull would visit."""
    graph = gp.rmat(13, 16, seed=1, directed=False)
    left, sources = np.full(graph.n, 7), np.argsort(-graph.out_degrees, kind="stable")[[1800, 1850, 1900]]
    left[sources] = 6, 5, 3
    program = Started(7, 7, left)
    records = gp.run(program, graph, device="cpu", options=gp.Options(deterministic=True)).stats.iterations
    assert [row.mode for row in records[:4]] == ["push", "push", "pull", "pull"]
    runs, totals = opened(program, graph)
    assert totals.unfinished == graph.m
    for record in records:
        counts = [run.step(totals) for run in runs]
        assert {each.record.mode for each in counts} == {record.mode}
        totals = runs[0].total(counts)
        exchange(runs)
    for run in runs:
        run.close()


def test_only_what_has_changed_is_marked():
    graph = gp.rmat(12, seed=1)
    runs, totals = opened(gp.apps.BFS(graph.ids[int(graph.out_degrees.argmax())]), graph)
    counts = [run.step(totals) for run in runs]
    told = runs[0].outgoing(1)
    assert 0 < told.changed.sum() < len(told.changed)
    assert np.array_equal(told.changed, told.active)
    assert counts[0].record.number == 0
    assert not runs[0].outgoing(1).changed.any()  # it counts as sent
    for run in runs:
        run.close()


@pytest.mark.parametrize("program", [gp.apps.PageRank(), gp.apps.ConnectedComponents()])
def test_a_loaded_state_goes_on_as_the_saved_one(program):
    graph = gp.rmat(12, seed=1, directed=False)
    runs, totals = opened(program, graph)
    totals = superstep(runs, totals)
    saved = [run.save() for run in runs]
    last = superstep(runs, superstep(runs, totals))
    expected = [run.report().copy() for run in runs]
    others, _ = opened(program, graph)
    for run, state in zip(others, saved, strict=True):
        run.load(state)
    again = superstep(others, superstep(others, totals))
    assert (again.active, again.active_edges, again.edges) == (last.active, last.active_edges, last.edges)
    assert [run.report().tobytes() for run in others] == [values.tobytes() for values in expected]
    for run in runs + others:
        run.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "components"}, "mode='components' is for one machine"),
        ({"mode": "pull-tiled"}, "mode='pull-tiled' is for one machine"),
        ({"sync": False}, "sync=False is for one machine"),
    ],
)
def test_what_parts_cannot_do_is_refused(changes, message):
    graph = gp.rmat(4)
    part = part_of(graph, cut(graph, 1), 0)
    with pytest.raises(ParameterError, match=message):
        PartRun(gp.apps.ConnectedComponents(), part, RunOptions(device="cpu", **changes))


@pytest.mark.parametrize(("first", "count"), [(0, 3), (60, 10), (64, 64), (130, 200), (0, 400)])
def test_members_are_put_in_a_range_of_a_set(first, count):
    random = np.random.default_rng(first)
    before, new = random.integers(0, 2, 400).astype(bool), random.integers(0, 2, count).astype(bool)
    active = VertexSet.empty(400)
    put(active, 0, before)
    put(active, first, new)
    before[first : first + count] = new
    assert np.array_equal(active.mask(400), before)


def test_new_values_are_told_before_all_are_computed(monkeypatch):
    """They are what would be told at the end, each once, and give the same answer."""
    monkeypatch.setattr("garaph_py.pages.layout.LEAST_PART_PAGE", 1)
    monkeypatch.setattr("garaph_py.cluster.part_run.EARLY", 64)
    graph = gp.rmat(15, seed=1)
    for program in gp.apps.PageRank(), gp.apps.BFS(graph.ids[int(graph.out_degrees.argmax())]):
        runs, totals = opened(program, graph, options=replace(OPTIONS, threads=2))
        others, same = opened(program, graph)
        for _ in range(3):
            told, counts = [], []
            for p, run in enumerate(runs):
                counts.append(run.step(totals, lambda *each, p=p, told=told: told.append((p, *each))))
            early = len(told)
            told += [(p, q, run.outgoing(q)) for p, run in enumerate(runs) for q in range(len(runs)) if p != q]
            sizes = {(p, q): len(run.part.wanted(p)) for q, run in enumerate(runs) for p in range(len(runs)) if p != q}
            for p, q, changed in told:
                sizes[p, q] -= len(changed.values)
                runs[q].incoming(p, changed)
            assert set(sizes.values()) == {0}
            assert early > len(runs) or isinstance(program, gp.apps.BFS)
            totals, same = runs[0].total(counts), superstep(others, same)
            for run, other in zip(runs, others, strict=True):
                assert run._state.values.tobytes() == other._state.values.tobytes()
                assert run._state.frontier.bits.tobytes() == other._state.frontier.bits.tobytes()
        for run in runs + others:
            run.close()
