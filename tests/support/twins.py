"""The specification of the library's programs: each once more in plain NumPy, over lists of edges, without garaph_py.

Every twin takes `Edges` and returns an array of shape (n,), or two. Those of float programs take the number of
synchronous iterations, in which every vertex is computed anew from the values of the iteration before; the first such
values are `start`.
"""

from dataclasses import dataclass, replace

import numpy as np

UNREACHED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Edges:
    """Edges between the vertices 0..n-1; parallel edges and self-loops are edges like others."""

    n: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None

    @property
    def numbers(self):
        return np.ones(len(self.sources), np.int64) if self.weights is None else self.weights

    @property
    def out_degrees(self):
        return np.bincount(self.sources, minlength=self.n)

    @property
    def in_degrees(self):
        return np.bincount(self.targets, minlength=self.n)

    def sums(self, contributions):
        """Sums over the in-edges of each vertex."""
        return np.bincount(self.targets, weights=contributions, minlength=self.n)

    def both_ways(self):
        """Each edge and its reverse; a self-loop once."""
        back = self.sources != self.targets
        weights = None if self.weights is None else np.append(self.weights, self.weights[back])
        return Edges(
            self.n,
            np.append(self.sources, self.targets[back]),
            np.append(self.targets, self.sources[back]),
            weights,
        )

    def weighted(self, weights):
        return replace(self, weights=weights)


def beside_path(length, edges):
    """A path of `length` vertices, along which few are active at a time, and beside it `edges` among the others."""
    along = np.arange(length - 1)
    sources = np.append(along, edges.sources.astype(np.int64) + length)
    targets = np.append(along + 1, edges.targets.astype(np.int64) + length)
    return Edges(length + edges.n, sources, targets)


def skewed(seed, n, m, weights=None):
    """A few vertices with many edges, some with none, self-loops and parallel edges; `weights` is a dtype."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(n)
    sources, targets = (names[(n * rng.random(m) ** power).astype(np.int64)] for power in (2, 3))
    sources[:: m // 8 + 1] = targets[:: m // 8 + 1]
    copies = slice(0, m // 10), slice(m - m // 10, m)
    sources[copies[1]], targets[copies[1]] = sources[copies[0]], targets[copies[0]]
    edges = Edges(n, sources, targets)
    if weights is None:
        return edges
    return edges.weighted(rng.integers(0, 50, m).astype(weights) if np.dtype(weights).kind in "iu" else rng.random(m))


def regular(seed, n, degree, weights=None):
    """In-edges alike for every vertex, so that what flows comes to rest soon; `weights` is a float dtype."""
    rng = np.random.default_rng(seed)
    edges = Edges(n, rng.integers(0, n, n * degree), np.repeat(np.arange(n), degree))
    return edges if weights is None else edges.weighted(rng.uniform(0.5, 1, n * degree).astype(weights))


def pagerank(edges, iterations, start=None, damping=0.85, dangling="redistribute"):
    rank = np.full(edges.n, 1 / edges.n) if start is None else start
    degree = edges.out_degrees
    for _ in range(iterations):
        lost = rank[degree == 0].sum() if dangling == "redistribute" else 0.0
        gathered = edges.sums(rank[edges.sources] / degree[edges.sources])
        rank = (1 - damping) / edges.n + damping * (gathered + lost / edges.n)
    return rank


def pagerank_iterations(edges, tolerance, stop):
    """After how many iterations the sum, or the mean, of absolute changes is first below `tolerance`."""
    before, count = pagerank(edges, 0), 0
    bound = tolerance * (edges.n if stop == "mean" else 1)
    while True:
        count += 1
        after = pagerank(edges, 1, before)
        if np.abs(after - before).sum() < bound:
            return count
        before = after


def delta_pagerank(edges, iterations, damping=0.85, tolerance=1e-4):
    rank = np.where(edges.in_degrees > 0, 1.0, 1 - damping) / edges.n
    degree = np.maximum(edges.out_degrees, 1)
    released = rank / degree
    for _ in range(iterations):
        rank = (1 - damping) / edges.n + damping * edges.sums(released[edges.sources])
        withheld = np.abs(rank - released * degree) <= tolerance / edges.n
        released = np.where(withheld, released, rank / degree)
    return rank


def bfs(edges, source):
    """Levels, and the least parents; -1 where the source does not reach."""
    level, parent = np.full(edges.n, -1), np.full(edges.n, -1)
    level[source], parent[source] = 0, source
    for depth in range(edges.n):
        found = (level[edges.sources] == depth) & (level[edges.targets] == -1)
        if not found.any():
            break
        least = np.full(edges.n, edges.n)
        np.minimum.at(least, edges.targets[found], edges.sources[found])
        new = least < edges.n
        level[new], parent[new] = depth + 1, least[new]
    return level, parent


def sssp(edges, source):
    """Distances: int64 with `UNREACHED`, or floats with infinity."""
    exact = edges.numbers.dtype.kind != "f"
    far = UNREACHED if exact else np.inf
    distance = np.full(edges.n, far, np.int64 if exact else edges.numbers.dtype)
    distance[source] = 0
    while True:
        known = distance[edges.sources] != far
        through = distance[edges.sources[known]] + edges.numbers[known].astype(distance.dtype)
        shorter = distance.copy()
        np.minimum.at(shorter, edges.targets[known], through)
        if (shorter == distance).all():
            return distance
        distance = shorter


def sswp(edges, source):
    """Widths: int64 or floats; 0 where the source does not reach."""
    exact = edges.numbers.dtype.kind != "f"
    width = np.zeros(edges.n, np.int64 if exact else edges.numbers.dtype)
    width[source] = UNREACHED if exact else np.inf
    while True:
        wider = width.copy()
        np.maximum.at(wider, edges.targets, np.minimum(width[edges.sources], edges.numbers.astype(width.dtype)))
        if (wider == width).all():
            return width
        width = wider


def components(edges):
    """The least vertex of each one's weak component."""
    label = np.arange(edges.n)
    while True:
        least = label.copy()
        np.minimum.at(least, edges.targets, label[edges.sources])
        np.minimum.at(least, edges.sources, label[edges.targets])
        if (least == label).all():
            return label
        label = least


def neural_network(edges, iterations, start):
    activation = start
    for _ in range(iterations):
        activation = np.tanh(edges.sums(edges.numbers * activation[edges.sources]))
    return activation


def heat(edges, iterations, start, fixed, conductivity):
    """`fixed` is NaN where the heat is free."""
    free = np.isnan(fixed)
    level = np.where(free, start, fixed)
    for _ in range(iterations):
        flow = edges.sums(edges.numbers * (level[edges.sources] - level[edges.targets]))
        level = np.where(free, level + conductivity * flow, fixed)
    return level


def circuit(edges, iterations, start, fixed):
    """`fixed` is NaN where the potential is free."""
    free = np.isnan(fixed)
    conductance = edges.sums(edges.numbers)
    potential = np.where(free, start, fixed)
    for _ in range(iterations):
        current = edges.sums(edges.numbers * potential[edges.sources])
        mean = np.divide(current, conductance, out=potential.copy(), where=conductance != 0)
        potential = np.where(free, mean, fixed)
    return potential


def hitting_probability(edges, iterations, start, query, decay):
    weight = edges.sums(edges.numbers)
    chance = np.array(start, float)
    chance[query] = 1
    for _ in range(iterations):
        mass = edges.sums(edges.numbers * chance[edges.sources])
        chance = decay * np.divide(mass, weight, out=np.zeros(edges.n), where=weight != 0)
        chance[query] = 1
    return chance
