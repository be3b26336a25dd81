"""Estimates how many GPUs a run should use. Pure: callers state the facts.

Several GPUs divide the edges, and the links over which they read edges that do not fit. They push in relaxations, as
one does; in other programs each iteration pulls, and goes over all edges. One GPU alone also ends pulls early, does
several iterations in a launch, and finds components, all without the host: several do none of these faster.

A user waits for the whole call, so whole calls are compared. Beyond its iterations, a call takes several GPUs longer
than one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..system.sizes import show_seconds
from .reckoning import (
    ALL,
    EXPECTED,
    FRONTIER,
    SEARCH,
    SEARCHES,
    UNION,
    Call,
    OnDevice,
    Rates,
    beyond_on_one,
    gpu_iterating,
    gpu_seconds,
    laid_out,
)

PEER_LINK = 3.9e11
"""Bytes per second that a GPU sends to another over a link between them: two H100s with NVLink copy 385 to 387 GB/s one
way (`garaph devices`, 2026-11-26), two H200s 391."""
TURNS = 1.5e-4
"""Time (s) that an iteration takes longer for each GPU but the first, because one thread drives all of them: some 7
steps for each. Iterations of few edges took 0.2 to 0.3 ms more on two H200s than on one (docs/results/gpus.md)."""
COPIES = 7e-5
"""Time (s) in which that thread starts what an iteration sends from one GPU to another: three copies of 23 microseconds
each (H100, 2026-11-27, docs/results/gpus.md)."""
GPU_CALL = 2.3e-3
"""Time (s) that each GPU but the first adds to what a call takes beyond its iterations. Two H200s took 1.7 to 3.4 ms
more than one over 1.9 M and 16.8 M vertices, with all edges in their memories (2026-11-28, docs/results/gpus.md)."""
PARENT_EDGE = 5e-11
"""Time (s) per edge in which one of several GPUs looks for the parents in its part: BFS over 537 M stored edges took
15.4 ms more than other programs on two H200s, over 268 M 10.6 (2026-11-28, docs/results/gpus.md). A single GPU does not
go over all edges."""
WORTH = 0.9
"""Several GPUs must be expected to take at most this part of one's time, unless both were measured: estimates are no
better."""


@dataclass(frozen=True)
class Gpus:
    """The GPUs of a machine.

    Attributes
    ----------
    count : int
        How many the driver sees.
    more : int
        Those beyond the first whose contexts this process has made.
    are_linked : bool
        Each reaches the next one's memory without the host.
    """

    count: int = 1
    more: int = 0
    are_linked: bool = True


def how_many(call: Call, there: OnDevice, rates: Rates, gpus: Gpus, most: int) -> tuple[int, str]:
    """How many GPUs, `most` at most, are expected to answer soonest, and why, for the user.

    The time to make the contexts of further GPUs counts as a part of the call.
    """
    one = gpu_seconds(laid_out(call, there), there, rates)
    best, seconds = best_of_several(call, there, rates, gpus, most)
    are_known = all(took is not None and took.beyond is not None for took in map(call.past.on_gpus, (1, best)))
    least = best if seconds <= (1.0 if are_known else WORTH) * one else 1
    told = f"expected calls of {show_seconds(one)} on one, of {show_seconds(seconds)} on {best}"
    return least, f"{least} of {most} GPUs: {told}"


def best_of_several(call: Call, there: OnDevice, rates: Rates, gpus: Gpus, most: int) -> tuple[int, float]:
    """The number of GPUs from 2 to `most` that is expected to answer soonest, and the time of a whole call there."""
    call = laid_out(call, there)
    seconds = {count: several_seconds(call, there, rates, gpus, count) for count in range(2, most + 1)}
    best = min(seconds, key=lambda count: seconds[count])
    return best, seconds[best]


def several_seconds(call: Call, there: OnDevice, rates: Rates, gpus: Gpus, count: int) -> float:
    """The time of a whole call on `count` GPUs, with that of making the contexts of those that have none."""
    return iterating(call, there, rates, gpus, count) + beyond(call, rates, count)


def iterating(call: Call, there: OnDevice, rates: Rates, gpus: Gpus, count: int) -> float:
    """The time of all iterations on `count` GPUs, and of making the contexts of those that have none."""
    starting = rates.start * max(count - 1 - gpus.more, 0)
    if (took := call.past.on_gpus(count)) is not None:
        return starting + took.iterating
    part = replace(call, edges=call.edges // count, in_place=False, chains=False)
    joins = call.kind == UNION and there.holds(part)
    is_usual = call.kind == ALL or joins or (call.kind != UNION and call.past.iterations is not None)
    iterations = call.iterations if is_usual else EXPECTED[FRONTIER]
    part = replace(part, past=replace(call.past, iterations=iterations))
    if not (call.kind in (FRONTIER, SEARCH) and call.chains):
        part = replace(part, kind=ALL, pushes=False)
    received = call.vertices * call.value_bytes * (count - 1) / count
    link = PEER_LINK if gpus.are_linked else rates.link / 2  # to the host, and from there
    return starting + gpu_iterating(part, there, rates) + iterations * (meeting(count) + received / link)


def meeting(count: int) -> float:
    """Time (s) that an iteration of `count` GPUs takes beyond its share of the edges, and what they send.

    From each GPU, copies start to each other one, so it grows with the square of `count`. On two GPUs it is what was
    measured; on more it is reckoned.
    """
    return (count - 1) * (TURNS + COPIES * count)


def beyond(call: Call, rates: Rates, count: int) -> float:
    """The time of a call on `count` GPUs beyond its iterations, as measured, or else as expected.

    It is at least that on one GPU: several spare nothing there, so if one took longer, its calls were slow for another
    reason, such as new memory for their answers.
    """
    one, took = beyond_on_one(call, rates), call.past.on_gpus(count)
    if took is None or took.beyond is None:
        looking = PARENT_EDGE * call.edges / count if call.kind in SEARCHES else 0.0
        return one + GPU_CALL * (count - 1) + looking
    return max(took.beyond, one)
