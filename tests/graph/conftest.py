"""Kernels that read objects of Python, compiled and as Python functions."""

from itertools import pairwise

import numpy as np
import pytest

from garaph_py.graph import objects
from garaph_py.native.kernel import address_of


def launched(things, kernel, cuts, *more):
    """`Objects.launched`, in Python, a part after the other."""
    results = []
    for first, last in pairwise(cuts.tolist()):
        scratch = np.zeros(objects.LINE, np.int64)
        given = objects.interface(), objects.items_of(things.things), first, last, scratch, address_of(scratch), None
        results.append(kernel.function(*given, *more))
    return results


@pytest.fixture(params=["compiled", "python"])
def _way(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(objects.Objects, "launched", launched)
