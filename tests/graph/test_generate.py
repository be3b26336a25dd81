"""Generators: the same graph from any number of threads, equal to a plain NumPy twin, with the promised shape."""

import numpy as np
import pytest

from garaph_py.errors import GraphError, ParameterError
from garaph_py.graph import generate
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import LABEL_ROUNDS, hash_keys, mix, relabel, rmat, uniform
from tests.support.graphs import equal

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def twin_rmat(scale, edge_factor, a, b, c, seed, permute):
    """The generator's formula on whole columns, quadrant by quadrant."""
    m = edge_factor << scale
    keys = hash_keys(seed)
    state = mix(keys[0] + np.arange(m, dtype=np.uint64) * GOLDEN)
    sources, targets = np.zeros(m, np.uint64), np.zeros(m, np.uint64)
    for bit in range(scale):
        if bit % 2 == 0:
            state += GOLDEN
            draw = mix(state)
        choice = ((draw >> np.uint64(32 * (bit % 2))) & np.uint64(2**32 - 1)) / 2.0**32
        quadrant = np.searchsorted([a, a + b, a + b + c], choice, side="right")
        sources = 2 * sources + (quadrant // 2).astype(np.uint64)
        targets = 2 * targets + (quadrant % 2).astype(np.uint64)
    if permute:
        mask, shift = np.uint64(2**scale - 1), np.uint64((scale + 1) // 2)
        sources, targets = (relabel(column, keys, mask, shift) for column in (sources, targets))
    return sources.astype(np.uint32), targets.astype(np.uint32)


@pytest.mark.parametrize("probabilities", [(0.57, 0.19, 0.19), (0.25, 0.25, 0.25), (0.0, 0.5, 0.5), (1.0, 0.0, 0.0)])
@pytest.mark.parametrize(("scale", "permute"), [(0, True), (1, True), (7, False), (10, True)])
def test_rmat_equals_its_twin(scale, permute, probabilities):
    a, b, c = probabilities
    graph = rmat(scale, 8, a=a, b=b, c=c, seed=5, permute=permute)
    sources, targets = twin_rmat(scale, 8, a, b, c, 5, permute)
    assert equal(graph, from_numbered_edges(sources, targets, 1 << scale))


@pytest.mark.parametrize("make", [rmat, uniform])
def test_any_number_of_threads_makes_the_same_graph(make):
    one = make(12, 20, seed=3, weights=(-4, 9), threads=1)
    assert equal(one, make(12, 20, seed=3, weights=(-4, 9), threads=2))
    assert equal(one, make(12, 20, seed=3, weights=(-4, 9), threads=7))
    assert not equal(one, make(12, 20, seed=4, weights=(-4, 9)))


@pytest.mark.parametrize("make", [rmat, uniform])
def test_counts_and_ids(make):
    graph = make(11, 5)
    assert (graph.n, graph.m, graph.directed, graph.edge_dtype) == (2048, 5 * 2048, True, None)
    assert graph.ids.kind == "range"
    undirected = make(11, 5, directed=False)
    owners = np.repeat(np.arange(2048), undirected.in_degrees)
    loops = np.count_nonzero(owners == undirected._arrays.in_edges.neighbours)
    assert undirected.m == 2 * 5 * 2048 - loops
    assert not undirected.directed
    assert make(5, 0).m == 0


def test_rmat_is_skewed_and_uniform_is_not():
    skewed, even = rmat(14), uniform(14)
    assert skewed.in_degrees.max() > 50 * 16
    assert even.in_degrees.max() < 3 * 16
    assert np.count_nonzero(skewed.in_degrees == 0) > 0.2 * skewed.n


def test_permuted_labels_scatter_the_hubs_and_nothing_else():
    plain, permuted = rmat(12, permute=False), rmat(12)
    assert np.argmax(plain.in_degrees) == 0
    assert np.array_equal(np.sort(plain.in_degrees), np.sort(permuted.in_degrees))
    hubs = np.argsort(permuted.in_degrees)[-64:]
    assert set((hubs // 512).tolist()) == set(range(8))


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
@pytest.mark.parametrize("scale", range(13))
def test_labels_are_a_bijection(scale, seed):
    labels = np.arange(1 << scale, dtype=np.uint64)
    mask, shift = np.uint64(2**scale - 1), np.uint64((scale + 1) // 2)
    assert np.array_equal(np.sort(relabel(labels, hash_keys(seed), mask, shift)), labels)
    assert len(hash_keys(seed)) == 2 + 2 * LABEL_ROUNDS


def test_weights_are_uniform_on_their_range_ends_included():
    values = uniform(12, 16, weights=(-3, 4))._arrays.in_edges.values
    counts = np.bincount(values + 3)
    assert values.dtype == np.int32
    assert len(counts) == 8
    assert abs(counts / len(values) - 1 / 8).max() < 0.01
    assert set(uniform(6, 4, weights=(7, 7))._arrays.in_edges.values.tolist()) == {7}
    wide = uniform(12, 16, weights=(-(2**31), 2**31 - 1))._arrays.in_edges.values
    assert wide.min() < -(2**31) * 0.99
    assert wide.max() > 2**31 * 0.99


def test_weights_do_not_change_the_edges():
    plain, weighted = uniform(8, seed=2), uniform(8, seed=2, weights=(0, 0))
    assert np.array_equal(plain._arrays.in_edges.neighbours, weighted._arrays.in_edges.neighbours)


@pytest.mark.parametrize(
    "arguments",
    [
        {"scale": -1}, {"scale": 32}, {"scale": 3.0}, {"scale": True}, {"scale": "9"},
        {"edge_factor": -1}, {"edge_factor": 1 << 18}, {"seed": -1}, {"seed": 1 << 63}, {"seed": None},
        {"a": -0.1}, {"a": 1.1}, {"a": float("nan")}, {"b": "x"}, {"a": 0.6, "b": 0.3, "c": 0.2},
        {"weights": (3, 2)}, {"weights": (0, 1 << 31)}, {"weights": 3}, {"weights": (0.5, 1)}, {"threads": 0},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_out_of_range(arguments):
    with pytest.raises(ParameterError):
        rmat(**({"scale": 3} | arguments))


@pytest.mark.parametrize("make", [rmat, uniform])
@pytest.mark.parametrize(("weights", "needed"), [(None, 1 << 20), ((1, 5), 3 << 19)])
def test_edges_beyond_the_free_memory_are_not_generated(make, weights, needed, monkeypatch):
    monkeypatch.setattr(generate, "available_memory", lambda: needed)
    assert make(12, weights=weights).m == 1 << 16
    monkeypatch.setattr(generate, "available_memory", lambda: needed - 1)
    with pytest.raises(GraphError, match=r"^65,536 random edges take 1\..* MiB, but .* of memory are free; generate"):
        make(12, weights=weights)


def test_progress_is_told_to_the_end():
    events = []
    rmat(10, 4, on_event=events.append)
    generating = [event for event in events if event.name == "generating edges"]
    assert (generating[0].done, generating[-1].done, generating[-1].total) == (0, 4096, 4096)
