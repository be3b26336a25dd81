"""What a call is expected to take, and the choice that follows, in plain numbers."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.past import Past
from garaph_py.runtime.reckoning import (
    ALL,
    CPU_STEP,
    CPU_VERTEX,
    FRONTIER,
    GPU_FEW_STEP,
    GPU_STEP,
    IN_PLACE,
    REVERSING,
    SEARCH,
    SEARCH_BOTH,
    UNION,
    UNKNOWN_SEARCH,
    Call,
    Rates,
    call_of,
    choose,
    copied_bytes,
    cpu_seconds,
    gpu_seconds,
    preparing_seconds,
)
from tests.support.calls import FOUND, H200, HERE, NEW, M, N, bfs, known, pagerank, short, sssp
from tests.support.stored_graphs import opened

# What a call takes.


def test_the_parts_of_a_call():
    rates = Rates(cpu_all=1e6, gpu_all=1e8, start=1.0, compile=3.0, placing=1e6, ranks=1e5, call=0.01, answering=1e7)
    call = Call(ALL, 1_000, 1_000_000, 4.0, 4, 8, threads=2, limit=5)
    assert cpu_seconds(call, rates) == pytest.approx(5 * CPU_STEP + 5 / 2 + CPU_VERTEX * 1000)
    assert gpu_seconds(call, NEW, rates) == pytest.approx(0.01 + 12_000 / 1e7 + 5 * GPU_STEP + 5e6 / 1e8)
    placing = (4e6 + 8_000 + 2 * 4_000) / 1e6
    assert preparing_seconds(call, NEW, rates) == pytest.approx(1 + 3 + placing + 1_000 / 2e5)
    assert preparing_seconds(call, FOUND, rates) == pytest.approx(placing + 1_000 / 2e5)
    assert preparing_seconds(call, HERE, rates) == 0
    most = replace(FOUND, nbytes=2_000_000)
    assert preparing_seconds(call, most, rates) == pytest.approx(placing - 2 + 1_000 / 2e5)


def test_a_run_from_disk_takes_at_least_the_time_of_the_disk():
    call = replace(pagerank(), limit=4, first_read=5 * 10**9, later_read=3 * 10**9)
    on_cpu = cpu_seconds(call, H200) - CPU_VERTEX * call.vertices
    assert on_cpu == pytest.approx((5 + 3 * 3) * 1e9 / H200.disk_raw)
    packed = cpu_seconds(replace(call, encoding="packed"), H200) - CPU_VERTEX * call.vertices
    assert packed == pytest.approx((5 + 3 * 3) * 1e9 / H200.disk_packed)
    there = replace(HERE, room=10**9)  # the GPU's memory keeps edges, which later passes do not read again
    saved = cpu_seconds(call, H200) - gpu_seconds(call, there, H200)
    assert saved == pytest.approx(3 * (there.staying(call) - 8 * call.vertices) / H200.disk_raw, rel=0.01)
    assert choose(call, there, H200).on_gpu
    search = replace(bfs(), first_read=5 * 10**9, later_read=3 * 10**9, limit=2)
    assert cpu_seconds(search, H200) - CPU_VERTEX * search.vertices == pytest.approx((5 + 3) * 1e9 / H200.disk_raw)


def test_a_graph_on_disk_is_known_by_what_it_reads(tmp_path):
    gp.save(gp.rmat(12, seed=1), tmp_path / "g")
    graph = opened(tmp_path / "g", 100 << 10)
    bound = bind(gp.apps.PageRank(), graph)
    call = call_of(bound, graph, RunOptions(), 2, Past())
    assert call.first_read == graph._arrays.in_edges.arrays(False)[0].stored_bytes
    assert 0 < call.later_read <= call.first_read
    assert (call_of(bound, gp.rmat(6), RunOptions(), 2, Past())).first_read == 0


def test_a_search_reads_a_part_of_the_edges_in_host_memory():
    small = replace(HERE, room=200_000_000)
    call = replace(bfs(), kind=SEARCH_BOTH)
    copied, in_place = (gpu_seconds(replace(call, in_place=each), small, H200) for each in (False, True))
    streamed = small.streamed(call) / H200.link
    assert copied - in_place == pytest.approx((1 - IN_PLACE) * streamed)


def test_edges_are_read_in_place_if_they_are_raw_in_memory_and_go_both_ways():
    graph = gp.from_edges([0, 1], [1, 2], directed=False)
    for program, in_place in (gp.apps.BFS(0), True), (gp.apps.ConnectedComponents(), True), (gp.apps.SSSP(0), False):
        assert call_of(bind(program, graph), graph, RunOptions(), 2, Past()).in_place == in_place
    for other in graph.packed(), gp.from_edges([0, 1], [1, 2]):
        assert not call_of(bind(gp.apps.BFS(0), other), other, RunOptions(), 2, Past()).in_place
    assert not call_of(bind(gp.apps.BFS(0), graph), graph, RunOptions(engine="garaph"), 2, Past()).in_place


def test_edges_that_do_not_fit_are_streamed_in_each_pass():
    call, room = pagerank(), 200_000_000
    small = replace(FOUND, room=room)
    extra = gpu_seconds(call, small, H200) - gpu_seconds(call, FOUND, H200)
    edges = room - 16 * N  # four arrays of values are there, too
    assert extra == pytest.approx(10 * (call.graph_bytes - 0.7 * edges) / H200.link)
    assert replace(small, nbytes=int(0.5 * edges)).missing(call) == pytest.approx(0.2 * edges)
    assert not replace(small, nbytes=int(0.7 * edges)).missing(call)
    assert replace(small, room=N).staying(call) == 0
    assert not replace(FOUND, room=1 << 40).streamed(call)


def test_iterations_that_push_read_the_lists_of_active_vertices_only():
    """SSSP over an R-MAT graph pulls twice, and pushes along the rest."""
    small, past = replace(HERE, room=300_000_000), Past(9, pulls=2, pushed=0.3)
    plain, pushing = sssp(past=past), sssp(past=past, pushes=True)
    streamed = small.streamed(plain)
    assert copied_bytes(plain, small) == streamed
    assert copied_bytes(pushing, small) == pytest.approx((2 + 0.3 * 2) * streamed)  # lists come at half the link's rate
    assert copied_bytes(pushing, HERE) == 0
    assert copied_bytes(replace(pushing, past=Past()), small) == streamed
    directed = replace(pushing, out_edge_bytes=4)
    assert copied_bytes(directed, small) == pytest.approx(2 * streamed + 0.3 * 2 * 4 * M)
    without_out_edges = replace(HERE, room=int(directed.graph_bytes) + 32 * N)
    assert copied_bytes(directed, without_out_edges) == pytest.approx(0.3 * 2 * 4 * M)


def test_a_gpu_does_less_where_it_pushes_deltas():
    past = Past(50, pulls=20, pushed=3.0)
    assert pagerank(past=past).gpu_work == 50 * M
    assert pagerank(past=past, pushes=True).gpu_work == pytest.approx((20 + 3 / 0.44) * M)
    assert pagerank(pushes=True).gpu_work == 10 * M
    assert replace(sssp(), pushes=True, past=past).gpu_work == M


def test_edges_are_as_wide_as_the_last_run_kept_them():
    small = replace(HERE, room=300_000_000)
    raw, packed = (choose(pagerank(), replace(small, edge_bytes=width), H200).call for width in (None, 2.2))
    assert (raw.edge_bytes, packed.edge_bytes) == (4, 2.2)
    assert gpu_seconds(packed, small, H200) < gpu_seconds(raw, small, H200)


def test_what_the_last_call_needed_on_the_gpu_is_what_a_call_needs_there():
    there = replace(FOUND, nbytes=90)
    assert there.missing(pagerank()) > 90
    assert replace(there, needed=100).missing(pagerank()) == 0
    assert replace(there, needed=101).missing(pagerank()) == 11


def test_several_gpus_count_if_they_are_faster():
    call = pagerank(past=known(10, cpu=0.3))
    slow = replace(H200, gpu_all=1e9)
    assert not choose(call, HERE, slow).on_gpu
    assert choose(call, HERE, slow, several=0.2).on_gpu
    assert gpu_seconds(call, HERE, slow, several=0.2) == 0.2
    assert gpu_seconds(call, HERE, H200, several=0.2) == gpu_seconds(call, HERE, H200)


def test_out_edges_are_copied_once_if_they_fit():
    call, plain = sssp(out_edge_bytes=8), sssp()
    both, one = call.whole_bytes, plain.graph_bytes
    assert (both, call.graph_bytes) == (one + 8 * M, one)
    assert preparing_seconds(call, FOUND, H200) == pytest.approx(
        preparing_seconds(plain, FOUND, H200) + 8 * M / H200.placing
    )
    for room, staying in (None, both), (both, both), (both - 1, one), (one, one), (one - 1, 0.7 * (one - 1)):
        there = replace(FOUND, room=room and int(room) + 32 * N)  # four arrays of values are there, too
        assert there.staying(call) == pytest.approx(staying)
        assert there.streamed(call) == pytest.approx(max(one - staying, 0))
    assert not replace(FOUND, nbytes=int(both)).missing(call)
    assert replace(FOUND, nbytes=int(one)).missing(call) == pytest.approx(8 * M)  # after a run that only pulled


def test_iterations_with_few_active_edges_share_launches():
    past = Past(100, few=90)
    one_each, chained = bfs(past=past), bfs(past=past, chains=True)
    saved = gpu_seconds(one_each, HERE, H200) - gpu_seconds(chained, HERE, H200)
    assert saved == pytest.approx(90 * (GPU_STEP - GPU_FEW_STEP))
    assert replace(chained, past=Past(100)).iterations == 100
    assert gpu_seconds(replace(chained, past=Past(100)), HERE, H200) == gpu_seconds(one_each, HERE, H200)


def test_iterations_to_expect():
    assert [replace(pagerank(), limit=limit).iterations for limit in (None, 10, 1000)] == [30, 10, 30]
    assert replace(pagerank(), limit=1000, past=Past(600)).iterations == 600
    assert replace(sssp(), limit=1).work == pytest.approx(0.1 * M)
    assert sssp(past=Past(700)).work == M


def test_what_the_cpu_does_of_a_relaxation_follows_the_vertices_it_reaches():
    assert [bfs(past=Past(7, reached=share)).cpu_work / M for share in (2.0, 1.0, 0.1, 0.05)] == [1, 1, 1, 0.5]
    assert pagerank(past=Past(10, reached=0.0)).cpu_work == 10 * M
    full, little = (bfs(past=Past(7, reached=share)) for share in (1.0, 0.01))
    assert cpu_seconds(little, H200) < cpu_seconds(full, H200) / 2
    assert gpu_seconds(little, HERE, H200) == gpu_seconds(full, HERE, H200)


def test_the_cpu_orders_edge_values_before_it_pushes():
    more = cpu_seconds(sssp(reverses=True), H200) - cpu_seconds(sssp(), H200)
    assert more == pytest.approx(M / REVERSING)
    assert cpu_seconds(sssp(reverses=True, past=known(7, cpu=0.01)), H200) == 0.01


def test_measured_calls_count_more_than_estimates():
    call = pagerank(past=known(10, cpu=0.3, gpu=0.02))
    assert cpu_seconds(call, H200) == 0.3
    assert gpu_seconds(call, HERE, H200) == 0.02
    assert preparing_seconds(call, FOUND, H200) == preparing_seconds(pagerank(), FOUND, H200)


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (gp.apps.PageRank(), ALL),
        (gp.apps.SSSP(0), FRONTIER),
        (gp.apps.ConnectedComponents(), FRONTIER),  # a limit of iterations asks for supersteps
        (gp.apps.BFS(0), SEARCH_BOTH),
    ],
    ids=str,
)
def test_the_call_of_a_run(program, kind):
    edges = np.arange(9), np.arange(1, 10)
    graph = gp.from_edges(*edges, np.ones(9, np.int32), directed=kind == ALL)
    call = call_of(bind(program, graph), graph, RunOptions(iterations=4), 3, Past(7))
    assert (call.kind, call.vertices, call.edges) == (kind, 10, graph.m)
    assert (call.threads, call.limit, call.iterations) == (3, 4, 7)
    assert call.edge_bytes == (8 if isinstance(program, gp.apps.SSSP) else 4 + 4 * (kind == ALL))


def test_a_run_that_finds_components_passes_over_the_edges_once():
    graph = gp.from_edges(np.arange(9), np.arange(1, 10), directed=False)
    bound = bind(gp.apps.ConnectedComponents(), graph)
    call = call_of(bound, graph, RunOptions(), 3, Past())
    assert (call.kind, call.iterations, call.work) == (UNION, 1, graph.m)
    assert call_of(bound, graph, RunOptions(sync=False), 3, Past()).kind == FRONTIER


# The choice, with the rates of the host that they were measured on.


@pytest.mark.parametrize(
    ("call", "there", "on_gpu"),
    [
        (pagerank(), HERE, True),  # 28 ms against 400
        (pagerank(), FOUND, True),
        (pagerank(), NEW, False),  # the GPU's compiler takes longer
        (bfs(), FOUND, False),
        (bfs(), HERE, True),
        (sssp(), HERE, True),
        (replace(pagerank(), edges=1_000_000, vertices=65_536), FOUND, False),
        (replace(pagerank(), edges=4 * M, vertices=4 * N), NEW, False),
        (replace(pagerank(), edges=40 * M, vertices=40 * N), NEW, True),
        (replace(pagerank(), edges=M // 100, vertices=65_536, limit=1), HERE, False),
        (replace(bfs(), edges=560_000, vertices=140_000, past=Past(747)), HERE, False),  # a grid: 54 ms against 112
    ],
    ids=short,
)
def test_who_is_sooner(call, there, on_gpu):
    assert choose(call, there, H200).on_gpu == on_gpu


def test_a_first_search_prepares_nothing_that_it_may_not_need():
    """The CPU may need much less than the estimate; a second search knows."""
    call = replace(bfs(), threads=13)
    prepared = preparing_seconds(call, FOUND, H200) + gpu_seconds(call, FOUND, H200)
    assert prepared < cpu_seconds(call, H200) < prepared / UNKNOWN_SEARCH
    assert not choose(call, FOUND, H200).on_gpu
    assert choose(replace(call, past=Past(10)), FOUND, H200).on_gpu
    assert choose(call, HERE, H200).on_gpu
    assert choose(replace(call, past=Past(lost=prepared)), FOUND, H200).on_gpu


def test_the_reason_names_both_times():
    assert choose(sssp(), HERE, H200).why == "expected 9.36 ms with the GPU; 176 ms on the CPU"
    assert (
        choose(bfs(), FOUND, H200).why == "expected 40.9 ms on the CPU; 45.9 ms with the GPU, 36.5 ms of it to prepare"
    )


@pytest.mark.spread
@pytest.mark.parametrize("there", [NEW, FOUND, replace(FOUND, is_compiled=False)], ids=short)
@pytest.mark.parametrize("call", [pagerank(), bfs(), sssp()], ids=short)
@pytest.mark.parametrize("calls", [1, 2, 5, 10, 30, 1000])
def test_any_number_of_calls_takes_at_most_twice_the_best(call, there, calls):
    cpu, warm = cpu_seconds(call, H200), gpu_seconds(call, there, H200)
    preparing = preparing_seconds(call, there, H200)
    spent, lost = 0.0, 0.0
    for _ in range(calls):
        if choose(replace(call, past=Past(lost=lost)), there, H200).on_gpu:
            spent, there, lost = spent + preparing_seconds(call, there, H200) + warm, HERE, 0.0
        else:
            spent, lost = spent + cpu, lost + max(cpu - warm, 0)
    assert spent <= 2 * min(calls * cpu, preparing + calls * warm)


def test_what_was_lost_does_not_help_a_slower_gpu():
    call = bfs(past=known(7, cpu=0.01, gpu=0.02, lost=100.0))
    assert not choose(call, HERE, H200).on_gpu


def test_lost_time_is_part_of_the_reason():
    verdict = choose(bfs(past=Past(lost=0.3)), FOUND, H200)
    assert verdict.on_gpu
    assert verdict.why.endswith("; calls on this graph have lost 300 ms on the CPU")


def test_a_search_over_a_directed_graph_is_of_another_kind():
    graph = gp.from_edges(np.arange(9), np.arange(1, 10))
    assert call_of(bind(gp.apps.BFS(0), graph), graph, RunOptions(), 3, Past()).kind == SEARCH


def test_what_a_call_says_of_pushes_on_the_gpu():
    edges = np.arange(9), np.arange(1, 10), np.ones(9, np.int32)
    graph, program = gp.from_edges(*edges), gp.apps.SSSP(0)

    def found(program, graph=graph, **options):
        call = call_of(bind(program, graph), graph, RunOptions(**options), 3, Past())
        return call.out_edge_bytes, call.chains

    assert found(program) == (8, True)
    assert found(gp.apps.BFS(0)) == (4, True)
    assert found(program, iterations=3) == (8, False)
    assert found(program, gp.from_edges(*edges, directed=False)) == (0, True)
    for none in found(program, mode="pull"), found(program, engine="garaph"), found(gp.apps.PageRank()):
        assert none == (0, False)
    assert found(program, graph.packed()) == (0, False)  # no list of packed edges can be read alone
