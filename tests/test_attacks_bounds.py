"""`scripts/attacks/bounds.py`: a small round, and kernels that reach outside an array, which it must find."""

import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from garaph_py.native import Kernel, PerCall

sys.path.append(str(Path(__file__).parents[1] / "scripts"))  # processes that are spawned have it, too
from attacks import bounds
from attacks.guards import guarded

pytestmark = pytest.mark.slow

LENGTH = 5


def read(array, place):
    return array[place]


def write(array, place):
    array[place] = 7
    return 7


READ, WRITE = Kernel("i64* i64", read), Kernel("i64* i64", write)


def reach(kernel, place, at_end, first, reports, notes):
    """The work of `bounds.watch`: call the kernel for a row of a larger array, in guarded memory."""
    with guarded(at_end, notes):
        table = np.zeros((3, LENGTH), np.int64)
        assert KERNELS[kernel].rows(3, PerCall(table), place)(1) == table[1, place]
        assert table.sum() == table[1, place]
    reports.send(({"reached": 1}, ""))


KERNELS = {"read": READ, "write": WRITE}


@pytest.mark.full
@pytest.mark.parametrize(
    ("kernel", "place", "at_end", "found"),
    [("read", LENGTH, True, True), ("write", -1, False, True), ("write", LENGTH - 1, True, False)],
)
def test_a_kernel_that_reaches_outside_is_found(tmp_path, kernel, place, at_end, found):
    KERNELS[kernel].address  # noqa: B018 - compiles
    outcome = bounds.watch(partial(reach, kernel, place, at_end), 1, tmp_path)
    if found:
        problem = f"input 0: an access outside an array (SIGSEGV); the last kernel was {kernel}"
        assert (outcome.problems, outcome.counts.total()) == ([problem], 0)
    else:
        assert (outcome.problems, outcome.counts["reached"]) == ([], 1)


def test_arrays_that_share_memory_stay_together(tmp_path):
    whole = np.arange(9)
    sum_of_ends = Kernel("i64* i64*", lambda first, second: first[0] + second[2])
    notes = os.open(tmp_path / "notes", os.O_RDWR | os.O_CREAT)
    with guarded(True, notes) as guards:
        assert sum_of_ends(whole[:6], whole[4:]) == 6
        assert Kernel("i64* i64*", lambda first, second: write(first, 4) + second[0])(whole[:6], whole[4:]) == 14
    os.close(notes)
    assert guards.calls == 2
    assert whole[4] == 7


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_senseless_directories_keep_kernels_inside_their_arrays(tmp_path, seed):
    outcome = bounds.watch(partial(bounds.try_directories, seed, 1, tmp_path), 1, tmp_path)
    assert outcome.problems == []
    assert outcome.counts["directories"] == 1
    assert outcome.counts["guarded calls of kernels"] > 0
