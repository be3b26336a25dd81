"""Kernels that read objects of Python, as Python functions, and dictionaries for them."""

from itertools import pairwise

import numpy as np

from garaph_py.graph import objects
from garaph_py.graph.dictionaries import Reader
from garaph_py.graph.networkx import summed
from garaph_py.graph.objects import Objects
from garaph_py.native.kernel import address_of


def launched(things, kernel, cuts, *more):
    """`Objects.launched`, in Python, a part after the other."""
    results = []
    for first, last in pairwise(cuts.tolist()):
        scratch = np.zeros(objects.LINE, np.int64)
        given = objects.interface(), objects.items_of(things.things), first, last, scratch, address_of(scratch), None
        results.append(kernel.function(*given, *more))
    return results


def reader(rows, bounds=None):
    """The reader of these dictionaries."""
    return Reader(Objects(rows), summed(list(map(len, rows))) if bounds is None else np.array(bounds))
