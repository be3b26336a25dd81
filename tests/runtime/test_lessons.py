"""What a call teaches about the rates, in plain numbers."""

from dataclasses import replace

import pytest

from garaph_py.runtime import reckoning
from garaph_py.runtime.lessons import Measured, lessons, revised
from garaph_py.runtime.past import Past
from garaph_py.runtime.reckoning import (
    choose,
    cpu_seconds,
    gpu_seconds,
    preparing_seconds,
)
from tests.support.calls import FOUND, H200, HERE, NEW, N, bfs, pagerank, short, sssp


def test_a_call_as_long_as_expected_teaches_the_same_rates():
    call, n = sssp(), 3 * N
    for there in HERE, FOUND:
        seconds = preparing_seconds(call, there, H200) + gpu_seconds(call, there, H200)
        known = replace(call, past=Past(call.iterations))
        measured = Measured(True, seconds, reckoning.gpu_iterating(known, there, H200), 10, active=n)
        for name, value in lessons(choose(call, there, H200), measured).items():
            assert value == pytest.approx(getattr(H200, name)), name
    measured = Measured(False, cpu_seconds(call, H200), reckoning.cpu_iterating(call, H200), 10, active=n)
    learned = lessons(choose(call, HERE, H200), measured)
    assert learned == {"cpu_frontier": pytest.approx(H200.cpu_frontier)}


@pytest.mark.parametrize(
    ("call", "there", "measured", "names"),
    [
        (pagerank(), HERE, Measured(True, 0.03, 0.02, 10), ["answering", "gpu_all"]),
        (pagerank(), HERE, Measured(True, 0.03, 0.002, 10), ["answering"]),  # too short
        (replace(pagerank(), vertices=9_999), HERE, Measured(True, 0.03, 0.02, 10), ["call", "gpu_all"]),
        (pagerank(), FOUND, Measured(True, 0.3, 0.1, 10), ["placing"]),
        (pagerank(), NEW, Measured(True, 0.3, 0.1, 10, 2.0, 0.5), ["compile", "placing", "start"]),
        (pagerank(), NEW, Measured(False, 0.5, 0.4, 10, 2.0), ["cpu_all"]),
        (replace(pagerank(), first_read=1), HERE, Measured(False, 0.5, 0.4, 10), []),  # the disk's time
        (replace(pagerank(), first_read=1), HERE, Measured(True, 0.03, 0.02, 10), ["answering"]),
        (bfs(), HERE, Measured(False, 0.05, 0.04, 7, active=N), ["cpu_search"]),
        (bfs(), HERE, Measured(False, 0.05, 0.04, 7, active=1), []),  # reached nobody
        (bfs(), FOUND, Measured(True, 0.3, 0.1, 7, active=1), ["placing"]),
        (pagerank(), HERE, Measured(True, 0.03, 1e5, 10), []),  # not believable
    ],
    ids=short,
)
def test_what_is_taught(call, there, measured, names):
    assert sorted(lessons(choose(call, there, H200), measured)) == names


def test_a_rate_that_was_far_too_low_is_corrected_by_calls_too_short_to_measure_it():
    slow = replace(H200, placing=H200.placing / 50)
    call = replace(pagerank(), edges=pagerank().edges // 50)
    measured = Measured(True, gpu_seconds(call, FOUND, slow), 0.01, call.iterations)
    learned = lessons(choose(call, FOUND, slow), measured)["placing"]
    assert learned == pytest.approx(reckoning.placed_bytes(call, FOUND) / 5e-3)
    assert learned > 2 * slow.placing


def test_a_rate_changes_when_it_was_wrong_twice():
    rates, doubts = revised({}, {}, {"call": 0.01})
    assert (rates, doubts) == ({}, {"call": 0.01})
    assert revised(rates, doubts, {"call": 0.04}) == ({"call": pytest.approx(0.02)}, {})
    assert revised(rates, doubts, {"call": 0.002}) == ({}, {})  # right after all
    assert revised(rates, doubts, {"call": 0.001}) == ({}, {"call": 0.001})  # wrong in the other direction
    assert revised(rates, doubts, {"start": 0.46}) == (rates, doubts)
