"""What several GPUs cost each other is found from runs of a host that is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from garaph_py.errors import ParameterError
from garaph_py.executor.modes import COMPONENTS, CPU, GPU, PULL, PUSH
from garaph_py.experiment import spec
from garaph_py.simulation import read_machine, recorded
from garaph_py.simulation.assess import assess
from garaph_py.simulation.calibrate import calibrate
from garaph_py.simulation.demand import CHAIN, PULL_AHEAD, PUSH_FEW
from garaph_py.simulation.gpus import simulate_gpus
from garaph_py.simulation.machine import Link, Machine, UnitCost, WorkCost
from garaph_py.simulation.peer_costs import with_peers
from garaph_py.simulation.peers import COSTS, TWO_H200S, Peers
from garaph_py.simulation.recorded import RecordedRun
from garaph_py.simulation.workload import Activity, Workload, even_offsets, in_order
from tests.support.command import garaph
from tests.support.simulated import LABELS, SUMS, how
from tests.support.simulated import recorded as recorded_run

LABELED = LABELS.name
ONE = Machine(
    16,
    (
        WorkCost(CPU, "any", PULL, UnitCost(1e-9)),
        WorkCost(GPU, SUMS.name, PULL, UnitCost(9e-12), iteration=1.4e-4),
        WorkCost(GPU, SUMS.name, PULL_AHEAD, UnitCost(9e-12), iteration=5e-5),
        WorkCost(GPU, LABELED, PULL, UnitCost(9e-12), iteration=1.4e-4),
        WorkCost(GPU, LABELED, PUSH, UnitCost(2e-11), iteration=1.9e-4),
        WorkCost(GPU, LABELED, CHAIN, UnitCost(2e-11), iteration=5e-5, call=1e-4),
        WorkCost(GPU, LABELED, PUSH_FEW, UnitCost(2e-11), iteration=1e-5, call=1e-4),
        WorkCost(GPU, LABELED, COMPONENTS, vertex=UnitCost(1.1e-10), iteration=4.8e-4),
    ),
    gpu_memory=1 << 37,
    link=Link(5e10, 5e10),
)
TRUE = Peers(2e11, 3e-5, 1e-5, 2e-9, 1.5e-10)
"""Unlike two H200s."""
SHARES = {SUMS: [1.0] * 6, LABELS: [1e-6, 1e-4, 0.01, 0.4, 0.9, 0.5, 0.05, 0.003, 1e-5, 3e-7]}


def run(scale, traits, gpus, share=None, iterations=None, noise=None, peers=TRUE):
    """A run as the known host has it, over a graph with 32 edges a vertex; with room for a share of them on each GPU,
    or for all. Without a limit on iterations, labels are found in one."""
    n, m = 1 << scale, 32 << scale
    activities = in_order([Activity(max(round(n * one), 1), round(m * one)) for one in SHARES[traits]])
    work = Workload(traits, n, m, even_offsets(n, m), tuple(activities), 4.0, 30.0)
    options, room = replace(how(GPU), iterations=iterations), None if share is None else int(share * m * 4)
    memory = ONE.gpu_memory if room is None else room + work.fixed
    done = simulate_gpus(work, ONE, options, peers, gpus, memory).iterations
    factors = np.ones(len(done)) if noise is None else 1 + 0.02 * noise.standard_normal(len(done))
    rows = tuple(row._asdict() | {"seconds": row.seconds * one} for row, one in zip(done, factors, strict=True))
    work = replace(work, activities=work.activities[: len(rows)])
    rates = {"copy_rate": 5e10, "peer_rate": peers.bandwidth}
    return RecordedRun(f"made:{scale}", work, options, 16, room, rows, gpus=gpus, **rates)


def measured(counts=(1, 2), noise=None, scales=(18, 20, 22)):
    """Runs like those of an experiment with these numbers of GPUs."""
    return [
        run(scale, traits, gpus, share, iterations, noise)
        for scale in scales
        for traits, iterations in ((SUMS, None), (LABELS, None), (LABELS, 100))
        for gpus in counts
        for share in (None, 0.1)
    ]


def costs(peers):
    return [getattr(peers, name) for name in COSTS]


def test_the_costs_are_found_again():
    found = with_peers(ONE, measured()).peers
    assert costs(found) == pytest.approx(costs(TRUE), rel=1e-6)
    assert found.assumed == ()
    assert costs(calibrate(measured()).peers) == pytest.approx(costs(TRUE), rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_noise_changes_them_little(seed):
    """Times of single iterations are up to some 5 % off; the costs of one GPU are fitted to such times, too."""
    runs = measured(noise=np.random.default_rng(seed))
    found = with_peers(ONE, runs).peers
    assert (found.turn, found.received) == pytest.approx((TRUE.turn, TRUE.received), rel=0.05)
    assert found.copy == pytest.approx(TRUE.copy, abs=0.1 * TWO_H200S.copy)
    assert found.joined == pytest.approx(TRUE.joined, rel=0.12)  # three iterations show it
    machine = calibrate(runs)
    assert machine.peers.assumed == ()
    for count in 2, 4, 8:
        known = run(21, LABELS, count, iterations=100)
        again = simulate_gpus(known.workload, machine, known.options, machine.peers, count)
        assert again.seconds == pytest.approx(known.seconds, rel=0.06)


def test_a_slow_link_is_seen_where_it_was_not_measured():
    """If it is fast, iterations show little of it."""
    slow = replace(TRUE, bandwidth=1e10)
    runs = [run(scale, SUMS, gpus, share, peers=slow) for scale in (20, 22) for gpus in (1, 2) for share in (None, 0.1)]
    found = with_peers(ONE, [replace(one, peer_rate=None) for one in runs]).peers
    assert found.bandwidth == pytest.approx(slow.bandwidth, rel=0.05)
    assert "bandwidth" not in found.assumed
    fast = [replace(one, peer_rate=None) for one in measured()]
    assert with_peers(ONE, fast).peers.assumed == ("bandwidth",)


def test_runs_on_one_gpu_show_none_of_them():
    runs = [replace(one, peer_rate=None) for one in measured((1,))]
    assert calibrate(runs).peers is None
    (rate,) = {one.peer_rate for one in measured((1,))}
    assert calibrate(measured((1,))).peers == replace(TWO_H200S, bandwidth=rate, assumed=COSTS[1:])
    assert calibrate([recorded_run(18, SUMS, CPU, 1.0)]).peers is None  # no GPU at all


def test_pulls_do_not_tell_steps_from_copies():
    """Each takes three steps and six copies; then one cost stays, and the other makes their sum right."""
    pulls = [run(scale, SUMS, gpus) for scale in (24, 25) for gpus in (1, 2)]
    found = with_peers(ONE, pulls).peers
    assert found.assumed == ("turn", "received", "joined")
    assert (found.turn, found.received, found.joined) == (TWO_H200S.turn, TWO_H200S.received, TWO_H200S.joined)
    assert 3 * found.turn + 6 * found.copy == pytest.approx(3 * TRUE.turn + 6 * TRUE.copy, rel=0.01)


def test_what_is_not_measured_by_itself_on_one_gpu_does_not_count():
    """Small pulls of one GPU are launched together; several GPUs launch them one by one."""
    pulls = [run(scale, SUMS, gpus) for scale in (16, 18) for gpus in (1, 2)]
    assert with_peers(ONE, pulls).peers.assumed == COSTS[1:]


def test_searches_that_end_early_do_not_count_if_the_machine_does_not_know_what_that_costs():
    runs = [replace(one, rows=tuple(row | {"edges": row["edges"] // 3} for row in one.rows)) for one in
            [run(24, SUMS, gpus) for gpus in (1, 2)]]  # fmt: skip
    assert with_peers(ONE, runs).peers.assumed == COSTS[1:]


def test_the_memory_of_a_gpu_holds_its_part_of_the_edges():
    one, several = run(18, SUMS, 1), run(20, SUMS, 4)
    fixed, edges = several.workload.fixed, 4 * several.workload.edges
    assert calibrate([one, several]).gpu_memory == pytest.approx(fixed + edges / 4, rel=0.05)
    bounded = replace(several, room=edges // 2)
    assert calibrate([one, bounded]).gpu_memory == fixed + edges // 2


def test_components_on_one_gpu_have_costs_of_their_own():
    machine = calibrate(measured((1,)))
    work = machine.work_of(GPU, LABELED, COMPONENTS)
    assert work.mode == COMPONENTS
    assert (work.vertex.base, work.iteration) == pytest.approx((1.1e-10, 4.8e-4), rel=1e-3)


def test_several_gpus_are_held_out_by_the_size_of_the_graph():
    runs = [one for one in measured() if one.room is None]
    several = [one for one in assess(runs, calibrate(runs)) if one.run.gpus == 2]
    labels = [one for one in several if one.run.workload.traits is LABELS]
    assert len(labels) == 6
    assert all(abs(one.error) < 0.01 for one in labels)
    assert all(one.held_out_error is not None and abs(one.held_out_error) < 0.1 for one in labels)


def test_runs_of_a_cpu_alone_predict_none_of_several_gpus():
    runs = [one for one in measured(scales=(18,)) if one.room is None] + [recorded_run(20, SUMS, CPU, 1.0)]
    found = assess(runs, calibrate(runs))
    assert {one.run.gpus for one in found} == {1, 2}
    assert {one.held_out for one in found} == {None}


def test_pushes_of_several_gpus_are_not_predicted_from_one_that_did_not_push(tmp_path, monkeypatch, capsys):
    """It found components. Without costs of pushes, several GPUs would gather for notified vertices."""
    runs = [run(20, SUMS, 1), run(20, LABELS, 1), run(20, LABELS, 2, iterations=100)]
    assert [one.fitted is None for one in assess(runs, calibrate(runs))] == [False, False, True]
    monkeypatch.setattr(recorded, "read_results", lambda folder, trusted: runs)
    assert garaph(monkeypatch, "calibrate", tmp_path, "--out", tmp_path / "machine.toml") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "gpu x 2" in line]
    assert line.split()[-2:] == ["-", "-"]


def test_several_gpus_need_one_beside_them():
    with pytest.raises(ParameterError, match="measure PageRank with gpus = 1, too"):
        calibrate(measured((2,)))
    with pytest.raises(ParameterError, match="measure PageRank with gpus = 1, too"):
        calibrate([run(18, LABELS, 1)])


@pytest.mark.parametrize(("counts", "said"), [
    ((1, 2), "several GPUs: bandwidth = 2e+11, turn = 2.99e-05, copy = "),
    ((1,), "note: the runs do not show what several GPUs cost: turn, copy, received, joined are those of two H200s"),
])  # fmt: skip
def test_the_command_says_what_they_cost(tmp_path, monkeypatch, capsys, counts, said):
    runs = [one for one in measured(counts) if one.room is None]
    monkeypatch.setattr(recorded, "read_results", lambda folder, trusted: runs)
    assert garaph(monkeypatch, "calibrate", tmp_path, "--out", tmp_path / "machine.toml") == 0
    told = capsys.readouterr().out
    assert said in told
    assert ("  gpu x 2  " in told) == (counts == (1, 2))
    assert read_machine(tmp_path / "machine.toml").peers == calibrate(runs).peers
    assert garaph(monkeypatch, "calibrate", tmp_path, "--out", tmp_path / "machine.toml", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gpus"]["bandwidth"] == TRUE.bandwidth
    assert {one["gpus"] for one in document["fit"]} == set(counts)


def test_the_command_says_nothing_of_several_gpus_that_nobody_has(tmp_path, monkeypatch, capsys):
    runs = [replace(one, peer_rate=None) for one in measured((1,)) if one.room is None]
    monkeypatch.setattr(recorded, "read_results", lambda folder, trusted: runs)
    assert garaph(monkeypatch, "calibrate", tmp_path, "--out", tmp_path / "machine.toml") == 0
    assert "several GPUs" not in capsys.readouterr().out
    assert "[gpus]" not in (tmp_path / "machine.toml").read_text()


def test_the_experiment_for_two_gpus_measures_both_numbers():
    folder = Path(__file__).parents[2] / "scripts" / "simulations"
    found = [one.settings for one in spec.read(folder / "two-gpus.toml").combinations]
    assert {one["program"] for one in found} == {"PageRank", "ConnectedComponents", "SSSP"}
    for gpus in 1, 2:
        assert len([one for one in found if one["gpus"] == gpus]) == len(found) / 2 == 12
