"""The rates that `reckoning` uses, as a call's times show them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .past import Past
from .reckoning import (
    ALL,
    CPU_STEP,
    LEAST_ACTIVE,
    THERE,
    Call,
    OnDevice,
    Rates,
    Verdict,
    answered_bytes,
    gpu_iterating,
    gpu_steps,
    placed_bytes,
    preparing_seconds,
    returning,
    reversing_seconds,
)

TOLERANCE = 1.25
"""A rate is wrong if a measurement differs from it by more than this factor. Times vary by less on a quiet machine."""
RANGE = 100.0
"""A rate is at most this many times as large, or as small, as its first estimate; other numbers are not believed."""
LEAST_SECONDS = 5e-3
"""Minimal seconds of a measurement of a rate."""
LEAST_READ = 1 << 26
"""Minimal bytes that an iteration must read from disk to measure the rate: they take 30 ms or more."""
MANY_BYTES = 1 << 24
"""Bytes of values from which on the time beyond a call's iterations depends on them, and not on what is fixed: copying
so many takes 0.3 ms."""


@dataclass(frozen=True)
class Measured:
    """What a call took.

    Attributes
    ----------
    on_gpu : bool
        It used the GPU, to the end.
    seconds : float
        From the call to the answer, without compiling and without finding the GPU.
    iterating : float
        Seconds of its iterations.
    iterations : int
    compiling, starting : float
        Seconds of compiling, and of finding the GPU and making its context.
    active : int
        Vertices that were active, summed over the iterations.
    few, pulls : int
    pushed : float
        As in `Past`.
    needed, found : int
        Bytes of the graph that the call needs of those that stay on the GPUs, and those of them that it found there.
    """

    on_gpu: bool
    seconds: float
    iterating: float
    iterations: int
    compiling: float = 0.0
    starting: float = 0.0
    active: int = 0
    few: int = 0
    pulls: int = 0
    pushed: float = 0.0
    needed: int = 0
    found: int = 0

    @property
    def found_all(self) -> bool:
        """Whether the GPUs had what the call needs of the graph, as far as they keep it."""
        return self.found >= THERE * self.needed


def lessons(verdict: Verdict, measured: Measured) -> dict[str, float]:
    """The rates with which the estimate of a call would have been its measured time."""
    call, there, rates = verdict.call, verdict.there, verdict.rates
    call = replace(call, past=known_after(call.past, measured, call.vertices))
    found = dict[str, float]()
    if measured.starting >= LEAST_SECONDS and not there.has_context:
        found["start"] = measured.starting
    if measured.on_gpu and not there.is_compiled and measured.compiling >= LEAST_SECONDS:
        found["compile"] = measured.compiling
    if measured.on_gpu and there.missing(call):
        found |= placing(call, there, rates, measured)
    elif measured.on_gpu and not measured.found_all:  # it has copied what it was expected to find
        pass
    elif call.kind == ALL or measured.active >= LEAST_ACTIVE * call.vertices:
        found |= working(call, there, rates, measured)
    return {name: value for name, value in found.items() if is_believable(name, value)}


def known_after(past: Past, measured: Measured, vertices: int) -> Past:
    """What is known about iterations after a call on a graph with so many vertices."""
    return replace(
        past, iterations=measured.iterations, reached=measured.active / max(vertices, 1), few=measured.few,
        pulls=measured.pulls, pushed=measured.pushed,
    )  # fmt: skip


def placing(call: Call, there: OnDevice, rates: Rates, measured: Measured) -> dict[str, float]:
    """The rate at which a call has placed the graph on the GPU.

    Pages are copied during the first iterations, so only the time of the whole call is known. If what is left of it for
    copying is too short to be measured, but was not expected to be, the rate is at least that of `LEAST_SECONDS`.
    """
    if call.kind != ALL and measured.active < LEAST_ACTIVE * call.vertices:
        iterating = gpu_steps(call)
    else:
        iterating = gpu_iterating(call, there, rates)
    made = replace(there, has_context=True, is_compiled=True)
    ranks = preparing_seconds(call, made, replace(rates, placing=float("inf")))
    seconds = measured.seconds - ranks - rates.call - returning(call, rates) - iterating
    if max(seconds, placed_bytes(call, there) / rates.placing) < LEAST_SECONDS:
        return {}
    return {"placing": placed_bytes(call, there) / max(seconds, LEAST_SECONDS)}


def working(call: Call, there: OnDevice, rates: Rates, measured: Measured) -> dict[str, float]:
    """The rates of a call that had nothing to place; a run from disk tells nothing of a processor's speed."""
    found, fixed = dict[str, float](), gpu_steps(call) if measured.on_gpu else call.iterations * CPU_STEP
    seconds = measured.iterating - fixed
    if not measured.on_gpu:
        seconds -= reversing_seconds(call)
        if call.first_read:
            return {}
        return {f"cpu_{call.kind}": call.work / (seconds * call.threads)} if seconds >= LEAST_SECONDS else {}
    beyond = measured.seconds - measured.iterating
    if answered_bytes(call) < MANY_BYTES:
        found["call"] = beyond - returning(call, rates)
    elif beyond - rates.call >= LEAST_SECONDS / 10:
        found["answering"] = answered_bytes(call) / (beyond - rates.call)
    if seconds >= LEAST_SECONDS and not (there.streamed(call) or call.first_read):
        found[f"gpu_{call.kind}"] = call.gpu_work / seconds
    return found


def reading(encoding: str, iterations: Sequence[tuple[int, float]]) -> dict[str, float]:
    """The rate at which a run has read edges of this encoding, from each iteration's bytes from disk and seconds."""
    much = [(nbytes, seconds) for nbytes, seconds in iterations if nbytes >= LEAST_READ]
    seconds = sum(seconds for _, seconds in much)
    found = {f"disk_{encoding}": sum(nbytes for nbytes, _ in much) / seconds} if seconds > 0 else {}
    return {name: value for name, value in found.items() if is_believable(name, value)}


def is_believable(name: str, value: object) -> bool:
    """Whether a number may be the rate of this name."""
    first: float = getattr(Rates, name)
    return isinstance(value, float) and first / RANGE <= value <= first * RANGE  # False for NaN


def revised(
    rates: Mapping[str, float], doubts: Mapping[str, float], learned: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The rates, and the doubts about them, after the lessons of a call.

    A rate changes when two measurements in succession miss it in the same direction; it becomes their geometric mean.
    The first one is kept as a doubt.
    """
    rates, doubts = dict(rates), dict(doubts)
    for name, value in learned.items():
        known, doubt = rates.get(name, getattr(Rates, name)), doubts.pop(name, None)
        if known / TOLERANCE <= value <= known * TOLERANCE:
            continue
        if doubt is not None and (doubt > known) == (value > known):
            rates[name] = (doubt * value) ** 0.5
        else:
            doubts[name] = value
    return rates, doubts
