"""How many GPUs a run takes by itself."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.program.columns import joined
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.past import Past, Took
from garaph_py.runtime.plan import gpus_of
from garaph_py.runtime.reckoning import (
    ALL,
    FRONTIER,
    SEARCH,
    SEARCH_BOTH,
    UNION,
    Call,
    OnDevice,
    Rates,
    beyond_on_one,
    iterating_on_one,
)
from garaph_py.runtime.several import GPU_CALL, PARENT_EDGE, PEER_LINK, Gpus, beyond, how_many, iterating
from tests.support.calls import known

READY = OnDevice(True, True, room=80 << 30)
LARGE = Call(ALL, 1 << 24, 1 << 29, threads=16, past=Past(iterations=30))


def taken(call, there=READY, gpus=Gpus(8, 7)):  # noqa: B008 - it cannot change
    return how_many(call, there, Rates(), gpus, gpus.count)[0]


def test_a_large_graph_is_divided_if_every_iteration_goes_over_all_edges():
    assert taken(LARGE, gpus=Gpus(2, 1)) == 2
    assert taken(LARGE) > 2
    count, why = how_many(LARGE, READY, Rates(), Gpus(2, 1), 2)
    assert (count, why[:31]) == (2, "2 of 2 GPUs: expected calls of ")


SSSP = replace(
    LARGE, edges=1 << 30, kind=FRONTIER, value_bytes=4, edge_bytes=8.0, past=Past(iterations=11), chains=True
)


def test_gpus_that_do_not_reach_each_other_send_values_through_the_host():
    """Half of the vertices' values, in every iteration; a graph of few edges a vertex then stays on one GPU."""
    linked, apart = Gpus(2, 1), Gpus(2, 1, are_linked=False)
    longer = iterating(LARGE, READY, Rates(), apart, 2) - iterating(LARGE, READY, Rates(), linked, 2)
    sent = LARGE.vertices * LARGE.value_bytes / 2
    assert longer == pytest.approx(30 * sent * (2 / Rates().link - 1 / PEER_LINK))
    few = replace(LARGE, vertices=1 << 26)
    assert [taken(few, gpus=gpus) for gpus in (linked, apart)] == [2, 1]


@pytest.mark.parametrize("kind", [SEARCH_BOTH, UNION])
def test_what_one_gpu_does_without_all_edges_stays_there(kind):
    assert taken(replace(LARGE, kind=kind, past=Past(), chains=True), gpus=Gpus(2, 1)) == 1


def test_several_gpus_find_components_in_one_iteration_only_if_all_edges_fit():
    union = replace(LARGE, kind=UNION, past=Past(iterations=1))
    ample, short = (iterating(union, replace(READY, room=room), Rates(), Gpus(2, 1), 2) for room in (80 << 30, 1 << 30))
    assert short > 9 * ample


def test_a_relaxation_is_divided_if_several_gpus_push_and_supersteps_are_few():
    two = Gpus(2, 1)
    assert taken(SSSP, gpus=two) == 2
    assert taken(replace(SSSP, vertices=1 << 22, edges=1 << 27), gpus=two) == 1
    assert taken(replace(SSSP, past=Past(iterations=900)), gpus=two) == 1
    assert taken(replace(SSSP, out_edge_bytes=8), gpus=two) == 2
    assert taken(replace(SSSP, out_edge_bytes=8, kind=SEARCH), gpus=two) == 1  # they would look for parents longer
    assert taken(replace(SSSP, chains=False), gpus=two) == 1  # they may not push


@pytest.mark.parametrize("pulls", [0, 3])
@pytest.mark.parametrize("out", [0, 8])
def test_a_relaxation_is_divided_also_if_the_edges_do_not_fit(pulls, out):
    """Each of several GPUs reads its part of them over a link of its own."""
    relaxing = replace(SSSP, out_edge_bytes=out, past=Past(iterations=11, pulls=pulls, pushed=0.3))
    one, two = replace(READY, room=1_400 << 20), Gpus(2, 1)
    assert taken(relaxing, one, two) == 2
    half = iterating(relaxing, one, Rates(), two, 2) / iterating_on_one(relaxing, one, Rates())
    assert 0.3 < half < 0.6


@pytest.mark.parametrize(("edges", "iterations", "count"), [(1 << 29, 30, 1), (1 << 29, 11, 2), (1 << 32, 11, 4)])
def test_more_gpus_are_left_out_where_their_copies_take_longer_than_they_save(edges, iterations, count):
    """One thread starts copies from each GPU to each other one: two GPUs are 2 pairs, eight are 56."""
    relaxing = replace(SSSP, edges=edges, past=Past(iterations=iterations))
    assert taken(relaxing, replace(READY, room=1 << 40)) == count


def test_measured_times_count_more_than_estimates():
    two = Gpus(2, 1)
    assert taken(replace(LARGE, past=known(30, gpu=0.100, two=0.099)), gpus=two) == 2
    assert taken(replace(LARGE, past=known(30, gpu=0.099, two=0.100)), gpus=two) == 1
    assert taken(replace(LARGE, past=known(30, gpu=0.100, hybrid=0.090, two=0.095)), gpus=two) == 1
    assert taken(replace(LARGE, past=known(30, two=10.0)), gpus=two) == 1
    one = iterating_on_one(LARGE, READY, Rates())
    assert taken(replace(LARGE, past=known(30, two=0.95 * one)), gpus=two) == 1  # the other one is an estimate
    assert taken(replace(LARGE, past=known(30, two=0.89 * one)), gpus=two) == 2


def test_whole_calls_are_compared():
    """Two H200s took 6.6 ms for the iterations of a BFS over directed R-MAT 24, one 7.3; the calls took 28 and 14."""
    took = {("gpu", 1): Took(0.0073, 0.0067), ("gpu", 2): Took(0.0066, 0.0212)}
    call = Call(SEARCH, 1 << 24, 268_000_000, threads=32, past=Past(6, took=took))
    assert how_many(call, READY, Rates(), Gpus(2, 1), 2) == (
        1, "1 of 2 GPUs: expected calls of 14.0 ms on one, of 27.8 ms on 2",
    )  # fmt: skip
    took["gpu", 2] = Took(0.0066, 0.0068)
    assert taken(call, gpus=Gpus(2, 1)) == 2


def test_a_number_of_gpus_that_was_not_measured_is_expected_to_take_longer_beyond_the_iterations():
    call = Call(SEARCH, 1 << 24, 268_000_000, threads=32, past=Past(6, took={("gpu", 1): Took(0.0073, 0.0067)}))
    assert [beyond(call, Rates(), count) for count in (2, 3)] == pytest.approx([0.0157, 0.0158], rel=0.01)
    assert taken(call, gpus=Gpus(2, 1)) == 1
    unmeasured = replace(call, past=Past(6))
    assert (
        beyond(unmeasured, Rates(), 2) == beyond_on_one(unmeasured, Rates()) + GPU_CALL + PARENT_EDGE * call.edges / 2
    )
    brought = replace(call, past=Past(6, took={("gpu", 2): Took(0.0066, None)}))  # by every call
    assert beyond(brought, Rates(), 2) == beyond(unmeasured, Rates(), 2)


def test_a_call_is_measured_only_if_that_beyond_its_iterations_is():
    """The calls are expected to be shorter on two GPUs, but not by a tenth."""
    for one, two, count in (None, None, 1), (0.007, None, 1), (0.007, 0.015, 2):
        took = {("gpu", 1): Took(0.100, one), ("gpu", 2): Took(0.090, two)}
        assert taken(replace(LARGE, past=Past(30, took=took)), gpus=Gpus(2, 1)) == count


def test_several_gpus_spare_nothing_beyond_the_iterations():
    """If calls on one seem to show that, they were slow for another reason."""
    took = {("gpu", 1): Took(0.0066, 0.0400), ("gpu", 2): Took(0.0073, 0.0212)}
    call = Call(SEARCH, 1 << 24, 268_000_000, threads=32, past=Past(6, took=took))
    assert beyond(call, Rates(), 2) == 0.0400
    assert taken(call, gpus=Gpus(2, 1)) == 1


def test_a_small_graph_stays_on_one():
    assert taken(replace(LARGE, vertices=1 << 14, edges=1 << 20)) == 1


def test_a_graph_that_one_would_stream_fits_several():
    assert taken(LARGE, replace(READY, room=1 << 30), Gpus(2, 1, False)) == 2


def test_the_way_over_the_host_costs_more():
    many = replace(LARGE, edges=1 << 28, value_bytes=16)
    assert taken(many, gpus=Gpus(2, 1, True)) == 2
    assert taken(many, gpus=Gpus(2, 1, False)) == 1


def test_a_short_run_does_not_pay_for_a_context():
    short = replace(LARGE, edges=1 << 30, past=Past(iterations=3))
    assert taken(short, gpus=Gpus(2, 1)) == 2
    assert taken(short, gpus=Gpus(2, 0)) == 1
    assert taken(replace(LARGE, past=Past(iterations=1000)), gpus=Gpus(2, 0)) == 2


@pytest.mark.parametrize(
    ("options", "executor", "found"),
    [
        ({"device": "cpu"}, "cpu", ()),
        ({"device": "gpu"}, "gpu", (0,)),
        ({"device": "gpu", "gpus": 2}, "gpu", (0, 1)),
        ({"device": "gpu", "gpus": "all"}, "gpu", (0, 1, 2, 3)),
        ({"device": "gpu", "gpus": [3, 1]}, "gpu", (3, 1)),
        ({"device": "hybrid", "gpus": [3, 1]}, "hybrid", (3,)),  # the graph is small
        ({"device": "hybrid"}, "hybrid", (0,)),
        ({"device": "gpu", "gpus": 2, "mode": "components"}, "gpu", (0, 1)),
        ({"device": "hybrid", "gpus": 2, "mode": "components"}, "hybrid", (0,)),  # several are slower
        ({"deterministic": True}, "gpu", (0,)),
        ({"engine": "emogi"}, "gpu", (0,)),
    ],
    ids=str,
)
def test_the_plan(graph_of, options, executor, found):
    graph = gp.rmat(6, directed=False)
    machine = Machine(8, lambda: True, gpus=lambda: Gpus(4))
    bound = bind(gp.apps.PageRank(weighted=False), graph)
    assert gpus_of(bound, graph, RunOptions(**options), machine, executor)[0] == found


FOUR = Machine(8, lambda: True, gpus=lambda: Gpus(4, 3))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"device": "hybrid", "gpus": 2, "mode": "components"}, "1 of 2 GPUs: several find components more slowly"),
        ({"device": "gpu", "gpus": 2, "mode": "components"}, None),
        ({"engine": "emogi"}, "1 of 4 GPUs: engine='emogi' uses one"),
        ({"device": "gpu", "gpus": 1}, None),
        ({"device": "gpu"}, None),
    ],
    ids=str,
)
def test_the_plan_says_why_one(options, why):
    graph = gp.rmat(6, directed=False)
    bound = bind(gp.apps.ConnectedComponents(), graph)
    assert gpus_of(bound, graph, RunOptions(**options), FOUR, "gpu")[1] == why


def test_the_plan_says_that_several_pull():
    graph, two = gp.rmat(6, directed=False), RunOptions(device="gpu", gpus=2)
    for program in gp.apps.PageRank(), gp.apps.ConnectedComponents():
        assert gpus_of(bind(program, graph), graph, two, FOUR, "gpu") == ((0, 1), None)
    bound = bind(gp.apps.DeltaPageRank(), graph)
    assert gpus_of(bound, graph, two, FOUR, "gpu") == ((0, 1), "several GPUs push no deltas, so they pull")
    assert gpus_of(bound, graph, RunOptions(device="gpu", gpus=1), FOUR, "gpu") == ((0,), None)
    rows = joined([bind(gp.apps.BFS(source), graph) for source in (0, 1)])
    assert gpus_of(rows, graph, two, FOUR, "gpu") == ((0, 1), "several GPUs push no rows, so they pull")
    for given in {"engine": "garaph"}, {"mode": "pull"}:  # one GPU would not push either
        for program in bound, rows:
            assert gpus_of(program, graph, replace(two, **given), FOUR, "gpu") == ((0, 1), None)


def test_the_plan_says_why(graph_of):
    graph = gp.rmat(6, directed=False)
    machine = Machine(8, lambda: True, gpus=lambda: Gpus(4, 3))
    bound = bind(gp.apps.PageRank(weighted=False), graph)
    _, why = gpus_of(bound, graph, RunOptions(), machine, "gpu")
    assert why.startswith("1 of 4 GPUs: expected ")
    assert gpus_of(bound, graph, RunOptions(gpus=[2, 3]), machine, "gpu")[1].startswith("1 of 2 GPUs: expected ")
