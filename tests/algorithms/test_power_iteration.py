"""The power iteration that looks for the best of two vectors: the vectors it finds, and in how many steps."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms.in_memory import called
from garaph_py.algorithms.power_iteration import KERNELS, PIECE, PowerIteration, best_share


def symmetric(seed, n):
    matrix = np.random.default_rng(seed).random((n, n)) ** 8
    return matrix + matrix.T


@pytest.mark.parametrize("seed", range(6))
def test_the_rayleigh_quotient_is_largest(seed):
    matrix, random = symmetric(seed, 7), np.random.default_rng(seed)
    x, d = random.random(7), random.random(7) - 0.5 * (seed % 2)
    share = best_share(x @ x, x @ matrix @ x, x @ d, d @ d, d @ matrix @ x, d @ matrix @ d)

    def quotient(t):
        y = x + t * d
        return (y @ matrix @ y) / (y @ y)

    nearby = [quotient(t) for t in np.linspace(-20, 20, 4001)]
    assert quotient(share) >= max(nearby) - 1e-12


@pytest.mark.parametrize("products", [(0.0,) * 6, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 0.0, 1e-30, 1e-15, 1e-30)])
def test_without_a_change_the_iteration_is_the_plain_one(products):
    assert best_share(*products) == 0


def found(matrix, least, most=10_000, threads=None):
    n, products = len(matrix), []
    with called(gp.from_edges([], [], vertices=range(n)), "test", KERNELS, threads) as call:
        iteration = PowerIteration(call, lambda x: products.append(1) or matrix @ x, np.linalg.norm, least)
        x, converged = iteration.run(np.full(n, n**-0.5), most)
    return x, converged, len(products)


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_eigenvector_of_the_largest_eigenvalue(seed):
    matrix = symmetric(seed, 50)
    x, converged, _ = found(matrix, 1e-10)
    assert converged
    np.testing.assert_allclose(x, np.abs(np.linalg.eigh(matrix)[1][:, -1]), atol=1e-8)


def test_it_takes_fewer_steps_than_the_plain_iteration():
    n = 60
    matrix = np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    x, _, steps = found(matrix, 1e-8)
    expected = np.sin(np.arange(1, n + 1) * np.pi / (n + 1))
    np.testing.assert_allclose(x, expected / np.linalg.norm(expected), atol=1e-6)
    plain, changes = np.full(n, n**-0.5), 0
    for _ in range(2 * steps):
        image = matrix @ plain
        plain, change = image / np.linalg.norm(image), np.abs(image / np.linalg.norm(image) - plain).sum()
        changes += change < 1e-8
    assert not changes


def test_one_step_is_that_of_the_plain_iteration():
    matrix = symmetric(1, 9)
    x, converged, steps = found(matrix, 1e-10, most=1)
    assert (converged, steps) == (False, 1)
    np.testing.assert_allclose(x, matrix.sum(axis=1) / np.linalg.norm(matrix.sum(axis=1)), rtol=1e-14)


def test_equal_eigenvalues_share_the_first_vector():
    matrix = np.kron(np.eye(2), symmetric(3, 8))
    x, converged, _ = found(matrix, 1e-10)
    assert converged
    np.testing.assert_allclose(x[:8], x[8:], rtol=1e-9)


def test_the_number_of_threads_changes_no_bit():
    n = 3 * PIECE + 5
    values = np.random.default_rng(5).random(n)

    def run(threads):
        with called(gp.from_edges([], [], vertices=range(n)), "test", KERNELS, threads) as call:
            return PowerIteration(call, lambda x: values * x, np.max, 1e-12).run(np.ones(n), 9)[0]

    np.testing.assert_array_equal(run(1), run(3))
