"""Generates random graphs: Graph500's Kronecker graphs (R-MAT), and graphs with uniform edges.

Every random number is a hash of the seed, the edge's number and the draw's number. So an edge depends only on its
number, and any number of threads makes the same graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import ParameterError
from ..native import Kernel, PerCall, prepare
from ..native.threads import ThreadPool, shares
from ..system.arguments import check_listener, explained
from ..system.memory import TooLittleMemoryError, available_memory
from ..system.sizes import show_bytes
from .build import build
from .graph import Graph
from .ids import VertexIds

Array = npt.NDArray[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step of the random number generator splitmix64 (Steele, Lea, Flood 2014)."""
MIX1, MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The multipliers of splitmix64."""
U1, U2, U27, U30, U31, U32 = map(np.uint64, (1, 2, 27, 30, 31, 32))
LOW32 = np.uint64(0xFFFFFFFF)
"""The lower 32 bits of a word."""
A, B, C = 0.57, 0.19, 0.19
"""Graph500's probabilities that a bit of an edge's source and the same bit of its target are (0, 0), (0, 1), (1, 0)."""
LABEL_ROUNDS = 3
"""Rounds of `relabel`."""
LANES = 512
"""Edges whose bits are drawn together; what `rmat_edges` keeps about them (8 KiB) fits in the first-level cache."""
EDGES_AT_ONCE = 1 << 22
"""Edges that each thread makes between two progress events."""
BATCH_EDGES, MOST_BATCH_EDGES = 1 << 18, 1 << 21
"""Edges that each thread makes of a batch of `RandomEdges.batches`, whose columns (2 MiB) fit in its caches; and most
edges of a batch, whose columns take 16 MiB, or 24 with weights."""


# Kernels have a parameter for each array and number: compiled functions take no structures of arrays.
def mix(x):
    """The finalizer of splitmix64: a bijection of 64-bit words."""
    x = (x ^ (x >> U30)) * MIX1
    x = (x ^ (x >> U27)) * MIX2
    return x ^ (x >> U31)


def relabel(vertex, keys, mask, shift):
    """A bijection on [0, mask] that depends on the keys, where mask = 2^scale - 1.

    Each round multiplies by an odd number, adds, and combines with the shifted vertex by xor.
    """
    for k in range(LABEL_ROUNDS):
        vertex = (vertex * keys[2 * k + 2] + keys[2 * k + 3]) & mask
        vertex ^= vertex >> shift
    return vertex


def quadrants(choices, to_a, to_b, to_c):
    """The bits of source and target that random 32-bit `choices` make: bit 32 and bit 0."""
    down = choices >= to_b
    right = (choices >= to_a) ^ down ^ (choices >= to_c)
    return np.uint64(down) << U32 | np.uint64(right)


# wide: a compiled function takes its arrays one by one.
def rmat_edges(start, stop, first, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets):
    """Make the edges [start, stop), in columns that begin with edge `first`.

    For every bit of the ids, 32 random bits choose a quadrant of the adjacency matrix. `to_a`, `to_b` and `to_c` are
    the cumulated probabilities of the first three quadrants, in units of 2^-32. The inner loops are over `LANES` edges,
    so that the compiler vectorizes them. `scratch` has two words for each: the state of its random numbers, and its
    ends, of which the source is the higher half.
    """
    mask, shift = (U1 << np.uint64(scale)) - U1, np.uint64((scale + 1) // 2)
    a, b, c = np.uint64(to_a), np.uint64(to_b), np.uint64(to_c)
    for begin in range(start, stop, LANES):
        count, at = min(LANES, stop - begin), begin - first
        for k in range(count):
            scratch[k] = mix(keys[0] + np.uint64(begin + k) * GOLDEN)
            scratch[LANES + k] = np.uint64(0)
        for _ in range(scale // 2):
            for k in range(count):
                state = scratch[k] + GOLDEN
                draw, ends = mix(state), scratch[LANES + k]
                two = quadrants(draw & LOW32, a, b, c) << U1 | quadrants(draw >> U32, a, b, c)
                scratch[k], scratch[LANES + k] = state, ends << U2 | two
        if scale % 2:
            for k in range(count):
                draw, ends = mix(scratch[k] + GOLDEN), scratch[LANES + k]
                scratch[LANES + k] = ends << U1 | quadrants(draw & LOW32, a, b, c)
        for k in range(count):
            source, target = scratch[LANES + k] >> U32, scratch[LANES + k] & LOW32
            if permute:
                source, target = relabel(source, keys, mask, shift), relabel(target, keys, mask, shift)
            sources[at + k] = source
            targets[at + k] = target
    return 0


# wide: a compiled function takes its arrays one by one.
def uniform_edges(start, stop, first, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets):
    """Make the edges [start, stop), like `rmat_edges`; both endpoints come from one random 64-bit word.

    It takes the same arguments, of which it ignores the probabilities and `permute`.
    """
    mask = (U1 << np.uint64(scale)) - U1
    for edge in range(start, stop):
        draw = mix(mix(keys[0] + np.uint64(edge) * GOLDEN))
        sources[edge - first] = draw & mask
        targets[edge - first] = (draw >> U32) & mask
    return 0


def integer_weights(start, stop, first, keys, low, span, weights):
    """Make the weights of the edges [start, stop), uniform on [low, low + span), in a column like `rmat_edges`."""
    for edge in range(start, stop):
        draw = mix(mix(keys[1] + np.uint64(edge) * GOLDEN)) >> U32
        weights[edge - first] = low + np.int64((draw * np.uint64(span)) >> U32)
    return 0


RMAT_EDGES, UNIFORM_EDGES = (
    Kernel("i64 i64 i64 i64 u64* i64 i64 i64 bool u64* u32* u32*", draw) for draw in (rmat_edges, uniform_edges)
)
INTEGER_WEIGHTS = Kernel("i64 i64 i64 u64* i64 i64 i32*", integer_weights)


@dataclass(frozen=True)
class RandomEdges:
    """Random edges, any part of which can be made at a time.

    Attributes
    ----------
    kernel : Kernel
        Makes a part of the edges.
    options : tuple
        The kernel's arguments between the keys and the columns.
    scale : int
        The graph has ``2**scale`` vertices.
    count : int
        The number of edges.
    keys : ndarray of uint64
        See `hash_keys`.
    weights : tuple of int, optional
        The smallest weight, and the number of different weights.
    """

    kernel: Kernel
    options: tuple[Any, ...]
    scale: int
    count: int
    keys: Array
    weights: tuple[int, int] | None

    @property
    def n(self) -> int:
        """The number of vertices."""
        return 1 << self.scale

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The type of the weights; None if there are none."""
        return None if self.weights is None else np.dtype(np.int32)

    def columns(self, first: int, stop: int, pool: ThreadPool, on_event: events.Listener = events.ignore) -> list[Any]:
        """Make the edges [first, stop): sources and targets (uint32), and weights (int32) or None."""
        prepare([self.kernel, *([INTEGER_WEIGHTS] if self.weights is not None else [])], on_event)
        m, weights = stop - first, None
        sources, targets = np.empty(m, np.uint32), np.empty(m, np.uint32)
        scratch = PerCall(np.empty((pool.size, 2 * LANES), np.uint64))
        ends = (self.scale, self.keys, *self.options, scratch, sources, targets)
        run(pool, self.kernel, first, stop, ends, "generating edges", on_event)
        if self.weights is not None:
            weights = np.empty(m, np.int32)
            run(pool, INTEGER_WEIGHTS, first, stop, (self.keys, *self.weights, weights), "generating weights", on_event)
        return [sources, targets, weights]

    def batches(self, pool: ThreadPool) -> Iterator[list[Any]]:
        """Make all edges, `BATCH_EDGES` a thread at a time, and no more than `MOST_BATCH_EDGES`."""
        each = min(BATCH_EDGES * pool.size, MOST_BATCH_EDGES)
        for first in range(0, self.count, each):
            yield self.columns(first, min(first + each, self.count), pool)

    def graph(self, directed: bool, threads: int | None, on_event: events.Listener) -> Graph:
        """The graph of all edges."""
        check_listener(on_event)
        self._check_memory()
        with ThreadPool(threads) as pool:
            columns = self.columns(0, self.count, pool, on_event)
        return build(columns, VertexIds(self.n), directed=directed, threads=threads, on_event=on_event)

    def _check_memory(self) -> None:
        """Raise `TooLittleMemoryError` if the columns and as many bytes of lists exceed the memory that is free.

        A graph takes at least so much while it is built. Linux would grant it, and end the process later.
        """
        nbytes = 2 * self.count * (4 + 4 + (0 if self.dtype is None else self.dtype.itemsize))
        free = available_memory()
        if nbytes > free:
            raise TooLittleMemoryError(
                f"{self.count:,} random edges take {show_bytes(nbytes, up=True)}, but {show_bytes(free)} of memory are "
                "free; generate fewer, or on disk: garaph generate"
            )


@explained
# wide: a public function, whose options are keywords.
def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    a: float = A,
    b: float = B,
    c: float = C,
    seed: int = 1,
    directed: bool = True,
    weights: tuple[int, int] | None = None,
    permute: bool = True,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Generate a Kronecker graph like Graph500's (R-MAT, Chakrabarti, Zhan, Faloutsos 2004), which has skewed degrees.

    Parameters
    ----------
    scale : int
        The graph has ``2**scale`` vertices, many of them without edges; 0 to 31.
    edge_factor : int
        Generated edges per vertex. Self-loops and parallel edges are kept.
    a, b, c : float
        The probabilities that a bit of the source's id and the same bit of the target's are (0, 0), (0, 1) and (1, 0).
        What is left to 1 is the probability of (1, 1). The defaults are Graph500's.
    seed : int
        0 to 2**63 - 1. The same seed gives the same graph on every machine, with any number of threads.
    directed : bool
        If False, every generated edge stands for both directions.
    weights : tuple of int, optional
        (low, high): the edge values are int32, uniform from low to high, both included.
    permute : bool
        Whether to permute the vertex ids at random. If not, vertices with small ids have high degrees.
    threads : int, optional
        Number of CPU threads; by default all cores.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    ParameterError
        If a parameter is out of its range.
    GraphError
        If the memory is too small.
    """
    edges = random_rmat(scale, edge_factor, a=a, b=b, c=c, seed=seed, weights=weights, permute=permute)
    return edges.graph(directed, threads, on_event)


# wide: a public function, whose options are keywords.
def random_rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    a: float = A,
    b: float = B,
    c: float = C,
    seed: int = 1,
    weights: tuple[int, int] | None = None,
    permute: bool = True,
) -> RandomEdges:
    """The edges of `rmat`."""
    return random_edges(RMAT_EDGES, (*check_probabilities(a, b, c), bool(permute)), scale, edge_factor, seed, weights)


@explained
def uniform(
    scale: int,
    edge_factor: int = 16,
    *,
    seed: int = 1,
    directed: bool = True,
    weights: tuple[int, int] | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Generate a graph with uniformly random endpoints for every edge (Erdos-Renyi, with parallel edges).

    Parameters
    ----------
    scale, edge_factor, seed, directed, weights, threads, on_event
        As for `rmat`.

    Raises
    ------
    ParameterError
        If a parameter is out of its range.
    GraphError
        If the memory is too small.
    """
    return random_uniform(scale, edge_factor, seed=seed, weights=weights).graph(directed, threads, on_event)


def random_uniform(
    scale: int, edge_factor: int = 16, *, seed: int = 1, weights: tuple[int, int] | None = None
) -> RandomEdges:
    """The edges of `uniform`."""
    return random_edges(UNIFORM_EDGES, (0, 0, 0, False), scale, edge_factor, seed, weights)


def random_edges(
    kernel: Kernel,
    options: tuple[Any, ...],
    scale: int,
    edge_factor: int,
    seed: int,
    weights: tuple[int, int] | None,
) -> RandomEdges:
    """Check the parameters; return the edges that `kernel` makes with them."""
    scale = whole("scale", scale, 0, 31)
    m = whole("edge_factor", edge_factor, 0, 1 << 17) << scale
    keys = hash_keys(whole("seed", seed, 0, (1 << 63) - 1))
    return RandomEdges(kernel, options, scale, m, keys, None if weights is None else weight_range(weights))


def run(
    pool: ThreadPool,
    kernel: Kernel,
    begin: int,
    end: int,
    arguments: tuple[Any, ...],
    name: str,
    on_event: events.Listener,
) -> None:
    """Run `kernel` over the edges [begin, end), divided among the threads; report the progress of the step `name`."""
    step, m = EDGES_AT_ONCE * pool.size, end - begin
    for first in range(begin, end, step):
        on_event(events.Step(name, first - begin, m, "edges"))
        starts, stops = shares(min(step, end - first), pool.size)
        pool.launch(kernel.rows(pool.size, first + starts, first + stops, begin, *arguments))
    if m:
        on_event(events.Step(name, m, m, "edges"))


def hash_keys(seed: int) -> Array:
    """The keys of the random numbers for a seed.

    The first is for edges, the second for weights. Then follow an odd multiplier and an addend for each round of
    `relabel`.
    """
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64
        keys = mix(np.uint64(seed) + GOLDEN * np.arange(1, 3 + 2 * LABEL_ROUNDS, dtype=np.uint64))
    keys = mix(keys ^ GOLDEN)
    keys[2::2] |= U1
    return np.asarray(keys)


def check_probabilities(a: float, b: float, c: float) -> tuple[int, int, int]:
    """Check the probabilities of `rmat`; return them cumulated, in units of 2^-32."""
    for name, value in (("a", a), ("b", b), ("c", c)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
            raise ParameterError(f"{name}={value!r}: give a probability from 0 to 1")
    if a + b + c > 1 + 1e-9:
        raise ParameterError(
            f"a + b + c = {a + b + c:.6g}; the probabilities of three quadrants are at most 1 together"
        )
    to_a, to_b, to_c = (min(round(float(total) * 2**32), 2**32) for total in (a, a + b, a + b + c))
    return to_a, to_b, to_c


def weight_range(weights: tuple[int, int]) -> tuple[int, int]:
    """Check the range of weights; return the smallest weight, and the number of different weights."""
    limits = np.iinfo(np.int32)
    try:
        low, high = weights
    except (TypeError, ValueError):
        raise ParameterError(f"weights={weights!r}: give (low, high), the range of the integer weights") from None
    low = whole("lowest weight", low, limits.min, limits.max)
    high = whole("highest weight", high, low, limits.max)
    return low, high - low + 1


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Check that the parameter `name` is a whole number from `low` to `high`, and return it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ParameterError(f"{name}={value!r}: give a whole number from {low} to {high}")
    return int(value)
