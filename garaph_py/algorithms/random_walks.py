"""Random walks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError
from ..graph import Graph
from ..native import Kernel
from ..native.threads import bounds_of
from ..system.arguments import explained, is_count
from ..system.memory import TooLittleMemoryError, available_memory
from ..system.sizes import show_bytes
from .in_memory import check_in_memory, in_memory
from .numbers import positive
from .seeds import generator

Array = npt.NDArray[Any]

GOLDEN = 0x9E3779B97F4A7C15
"""What the state of SplitMix64 grows by: 2^64 divided by the golden ratio, made odd."""


def mixed(state):
    """SplitMix64's output function [Steele, Lea, Flood, OOPSLA 2014]: 64 random bits of a state."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def fraction(bits):
    """A number of [0, 1) of 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def first_above(sums, begin, end, bound):
    """The first place of [begin, end) in ascending `sums` that holds more than the bound; the last one if none does."""
    last = end - 1
    while begin < last:
        middle = (begin + last) >> 1
        if sums[middle] > bound:
            last = middle
        else:
            begin = middle + 1
    return begin


def has_edge(offsets, others, u, v):
    """Whether v is in the list of u, which ascends."""
    begin, end = offsets[u], offsets[u + 1]
    while begin < end:
        middle = (begin + end) >> 1
        if others[middle] < v:
            begin = middle + 1
        else:
            end = middle
    return begin < offsets[u + 1] and others[begin] == v


# wide: a compiled function takes its arrays one by one.
def walk(first, last, length, seed, back, near, far, weighted, offsets, others, sums, walks):
    """Go on with each of the walks [first, last), whose first vertices are there, for `length` steps.

    ``sums[e]`` is the sum of the weights of a vertex's edges up to e. If `weighted` is 0, all weigh the same. A step is
    drawn by weight, and drawn again unless a number of [0, 1) is below `back`, `near` or `far`: the step leads to
    the vertex before, to one to which that one has an edge, or to another.
    """
    biased = back < 1.0 or near < 1.0 or far < 1.0
    for place in range(first, last):
        state = mixed(np.uint64(seed) + np.uint64(place) * np.uint64(GOLDEN))
        row = place * (length + 1)
        v, before = np.int64(walks[row]), np.int64(-1)
        for step in range(1, length + 1):
            begin, end = offsets[v], offsets[v + 1]
            total = np.float64(end - begin)
            if weighted and end > begin:
                total = sums[end - 1]
            w = v
            while total > 0.0:
                state += np.uint64(GOLDEN)
                drawn = fraction(mixed(state)) * total
                e = first_above(sums, begin, end, drawn) if weighted else min(begin + np.int64(drawn), end - 1)
                w = np.int64(others[e])
                if not biased or before < 0:
                    break
                accepted = far
                if w == before:
                    accepted = back
                elif has_edge(offsets, others, before, w):
                    accepted = near
                state += np.uint64(GOLDEN)
                if fraction(mixed(state)) < accepted:
                    break
            walks[row + step] = w
            before, v = v, w
    return 0


def add_up(first, last, offsets, sums):
    """Replace the weights of each vertex's edges by the sums up to each of them."""
    for v in range(first, last):
        total = 0.0
        for e in range(offsets[v], offsets[v + 1]):
            total += sums[e]
            sums[e] = total
    return 0


ADD_UP = Kernel("i64 i64 i64* f64*", add_up)
WALK = Kernel("i64 i64 i64 i64 f64 f64 f64 i64 i64* u32* f64* i64*", walk)


@explained
# wide: the choices of a walk.
def random_walks(
    graph: Graph,
    starts: Any = None,
    *,
    length: int = 80,
    weight: bool = True,
    p: float = 1.0,
    q: float = 1.0,
    seed: int | None = None,
    threads: int | None = None,
) -> Array:
    """Random walks: from v to w with a probability in proportion to the weight of the edge v -> w.

    Parameters
    ----------
    graph : Graph
    starts : iterable, optional
        The first vertex of each walk; a vertex may be there several times. By default one walk starts at each vertex.
    length : int
        Steps of a walk.
    weight : bool
        Whether edge values, numbers of 0 or more, are the weights; otherwise, and in a graph without edge values, each
        edge has the same.
    p, q : float
        node2vec's parameters [1]_. The weight of a step back to the vertex before is divided by `p`, and that of a step
        to a vertex to which the one before has no edge is divided by `q`.
    seed : int, optional
        The walks depend on the graph, on the parameters and on this number only; by default they are others in each
        call.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    ndarray, shape (number of starts, length + 1)
        The vertices of each walk, by the user's ids. A walk that reaches a vertex without out-edges of a weight above 0
        stays there.

    Raises
    ------
    UnknownVertexError
        If one of the starts is not in the graph.
    ParameterError
        If `length` or `seed` is no whole number of 0 or more, or `p` or `q` is no number above 0.
    GraphError
        If the edges are on disk, or an edge value is negative.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores. The kernel draws steps by weight, and rejects some of those
    that `p` and `q` make unlikely [2]_. Besides the answer, it takes 8 bytes for each vertex of a walk, and 16 for each
    edge that has a weight.

    References
    ----------
    .. [1] Grover, A., J. Leskovec, "node2vec: scalable feature learning for networks", KDD 2016.
    .. [2] Yang, K., M. Zhang, K. Chen, X. Ma, Y. Bai, Y. Jiang, "KnightKing: a fast distributed graph random walk
       engine", SOSP 2019.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c"], ["b", "c", "a"])
    >>> gp.algorithms.random_walks(graph, ["a", "c"], length=4).tolist()
    [['a', 'b', 'c', 'a', 'b'], ['c', 'a', 'b', 'c', 'a']]
    """
    check_in_memory(graph, "random_walks")
    check_walk(length, p, q)
    random = generator(seed)
    places = np.arange(graph.n) if starts is None else graph.ids.indices(starts)
    nbytes, free = 8 * len(places) * (int(length) + 1), available_memory()
    if nbytes > free:
        raise TooLittleMemoryError(
            f"random_walks(length={length}): the walks take {show_bytes(nbytes, up=True)}, but {show_bytes(free)} of "
            "memory are free; give fewer starts, or a smaller length"
        )
    weighted = bool(weight) and graph.edge_dtype is not None
    if weighted:
        check_weights(graph)
    with in_memory(graph, "random_walks", [ADD_UP, WALK], threads) as call:
        walks = np.empty((len(places), length + 1), np.int64)
        walks[:, 0] = places
        most = max(1 / p, 1.0, 1 / q)
        accepted = 1 / p / most, 1 / most, 1 / q / most
        out = call.arrays.valued_out_edges(call.pool) if weighted else call.arrays.out_edges
        sums = np.zeros(0)
        if weighted:
            sums = np.array(out.values, np.float64)
            call.on_vertices(ADD_UP, out.offsets, sums, offsets=out.offsets)
        cuts = bounds_of(len(places), min(call.count(walks.size), max(len(places), 1)))
        call.pool.launch(
            WALK.rows(
                len(cuts) - 1, cuts[:-1], cuts[1:], length, int(random.integers(1 << 63)), *accepted, int(weighted),
                out.offsets, out.neighbours, sums, walks.reshape(-1),
            )
        )  # fmt: skip
        return graph.ids.take(walks.reshape(-1)).reshape(walks.shape)


def check_walk(length: Any, p: Any, q: Any) -> None:
    """Refuse numbers of steps, and parameters of node2vec, that no walk can have."""
    if not is_count(length):
        raise ParameterError(f"length={length!r}: give a number of steps, 0 or more")
    for name, value in (("p", p), ("q", q)):
        positive(value, "random_walks", name)


def check_weights(graph: Graph) -> None:
    """Refuse edge values by which no edge can be drawn."""
    if not graph.m:
        return
    limits = graph._arrays.value_limits
    if not (limits.least >= 0 and limits.most < np.inf):
        raise GraphError(
            f"random_walks needs finite edge values of 0 or more, and those of this graph are from {limits.least} to "
            f"{limits.most}; change them, or give weight=False"
        )
