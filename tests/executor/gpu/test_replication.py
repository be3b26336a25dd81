"""Replication factors of shards: the paper's equations, and a cost model that is fitted to measurements."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.executor.gpu.replication import DEGREE_BOUNDS, FACTORS, CostModel, custom, fixed


@given(st.integers(1, 10**9), st.integers(0, 10**11))
def test_equation_2(vertices, edges):
    exponent = math.ceil(math.log2(edges / vertices) - 0.5) if edges else 0
    assert custom().of(edges / vertices) == 2 ** min(max(exponent, 0), 5)


@pytest.mark.parametrize("k", range(-2, 8))
def test_equation_2_rounds_half_a_power_down(k):
    """The exponent rises where log2 of the degree exceeds a whole number by a half; random degrees rarely meet that."""
    low, high = (2 ** min(max(exponent, 0), 5) for exponent in (k, k + 1))
    edge = 2 ** (k + 0.5)
    assert [custom().of(degree) for degree in (0.999 * edge, edge, 1.001 * edge)] == [low, low, high]


@given(st.floats(0, 1e9), st.sampled_from(FACTORS))
def test_a_fixed_factor(degree, factor):
    assert fixed(factor).of(degree) == factor
    assert not fixed(factor).all_vertices


@given(st.floats(1, 1e6), st.floats(0, 32), st.sampled_from(FACTORS), st.floats(0.1, 10), st.floats(0.1, 10))
def test_equation_1_is_a_cost_model(v, degree, r, t_l, t_a):
    """This holds while no more edges of a destination conflict than a warp has threads."""
    e = v * degree
    expected = r * v * t_l + e * t_l + e**2 / (v * r) * t_a + v * t_a * np.log2(r)
    found = CostModel.terms(v, e, degree, r) @ np.array([0, t_l, t_l, t_a, t_a, 0])
    assert found == pytest.approx(expected, rel=1e-9)


COEFFICIENTS = st.lists(st.floats(0.1, 10), min_size=6, max_size=6)


def cycles(k, v, e, d, r):
    """The model of a work item: equation 1 with a coefficient a term."""
    return k[0] + k[1] * r * v + k[2] * e + k[3] * e * min(d, 32) / r + k[4] * v * math.log2(r) + k[5] * v


@given(COEFFICIENTS, st.integers(32, 20000), st.sampled_from([64, 1 << 15]))
def test_calibrated_replication_is_the_cheapest_by_the_model(k, copies, item_edges):
    rule = CostModel(np.array(k)).replication(copies, item_edges)
    for degree in [1.0, *np.sqrt(DEGREE_BOUNDS[1:] * DEGREE_BOUNDS[:-1])]:
        cost = {}
        for factor in FACTORS:
            v = max(copies // factor, 1)
            e = v * degree
            pieces = max(math.ceil(e / item_edges), 1)
            cost[factor] = cycles(k, v, e / pieces, degree, factor) * pieces / e
        assert cost[rule.of(degree)] == pytest.approx(min(cost.values()), rel=1e-9)


def test_the_terms_of_the_model():
    """Two vertices with four edges each, and two copies: a constant, clearing, edges, collisions, merging, vertices."""
    assert CostModel.terms(2, 8, 4, 2).tolist() == [1, 4, 8, 16, 2, 2]
    assert CostModel.terms(1, 64, 64, 8).tolist() == [1, 8, 64, 256, 3, 1]  # a warp's 32 threads at most


def test_what_is_tried():
    assert FACTORS == (1, 2, 4, 8, 16, 32)
    rule = CostModel(np.ones(6)).replication(1, 64)  # memory for one accumulator
    assert set(rule.factors) <= set(FACTORS)
    assert (len(rule.bounds), len(rule.factors)) == (28, 29)
    assert rule.bounds[[0, 1, 2, 27]] == pytest.approx([1, 2**0.5, 2, 2**13.5])


@pytest.mark.parametrize(("share", "factor"), [(0.97, 16), (1.03, 8)])
def test_degrees_above_the_last_bound_count_as_16384(share, factor):
    """With R / d + 128 / (share 2 ** 14 R) cycles an edge, 8 and 16 copies cost the same at d = share 2 ** 14."""
    model = CostModel(np.array([0, 1, 0, 4 / (share * 2**14), 0, 0]))
    assert model.replication(1024, 1 << 40).of(1e6) == factor


def test_relative_errors_are_what_is_least():
    """The same item took 1 cycle and 3: 1.2 cycles is off by 1/5 and 3/5, and has the least sum of squares."""
    v, e, d, r = (np.full(2, one) for one in (1e9, 4e9, 4.0, 2.0))
    model = CostModel.fit(v, e, d, r, np.array([1.0, 3.0]))
    assert CostModel.terms(v, e, d, r) @ model.coefficients == pytest.approx([1.2, 1.2])
    assert not CostModel.fit(v, e, d, r, np.zeros(2)).coefficients.any()


@given(COEFFICIENTS, st.integers(0, 99))
def test_the_model_is_found_from_what_items_took(k, seed):
    rng = np.random.default_rng(seed)
    v, d = rng.integers(1, 5000, 200).astype(float), 2 ** rng.uniform(0, 12, 200)
    r = rng.choice(FACTORS, 200).astype(float)
    e = v * d
    took = np.array([cycles(k, *item) for item in zip(v, e, d, r, strict=True)])
    model = CostModel.fit(v, e, d, r, took)
    assert (model.coefficients >= 0).all()
    np.testing.assert_allclose(CostModel.terms(v, e, d, r) @ model.coefficients, took, rtol=1e-6)
    assert (CostModel.fit(v, e, d, r, rng.uniform(1, 1e6, 200)).coefficients >= 0).all()


def test_a_term_that_no_item_has():
    """With one copy each, there was nothing to merge: the model says nothing of it, and all else."""
    v, d = np.array([1.0, 2.0, 500.0, 4000.0, 70.0]), np.array([9.0, 1.0, 40.0, 8.0, 300.0])
    r, k = np.ones(5), [1.0, 0.5, 3.0, 0.25, 7.0, 0.5]
    took = np.array([cycles(k, *item) for item in zip(v, v * d, d, r, strict=True)])
    model = CostModel.fit(v, v * d, d, r, took)
    np.testing.assert_allclose(CostModel.terms(v, v * d, d, r) @ model.coefficients, took, rtol=1e-6)
    assert model.coefficients[4] == 0
