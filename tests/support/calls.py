"""Calls and GPUs that the tests of what calls take, and of what they teach, share."""

from dataclasses import replace

from garaph_py.runtime.past import ON_CPU, Past, Took
from garaph_py.runtime.reckoning import ALL, FRONTIER, SEARCH, Call, OnDevice, Rates

M, N = 134_000_000, 4_194_304
"""R-MAT of scale 22, symmetric."""
H200 = Rates()
HERE = OnDevice(has_context=True, is_compiled=True, nbytes=1 << 40)
FOUND = replace(HERE, nbytes=0)
NEW = OnDevice()


def pagerank(**more):
    return Call(ALL, N, M, value_bytes=4, answer_bytes=4, threads=16, limit=10, **more)


def bfs(**more):
    return Call(SEARCH, N, M, threads=16, **more)


def sssp(**more):
    return Call(FRONTIER, N, M, edge_bytes=8, threads=16, **more)


def known(iterations=None, cpu=None, gpu=None, two=None, hybrid=None, **more):
    """A past in which whole calls took so many seconds on the CPU, on one GPU, on two, and on the CPU and one GPU."""
    seconds = {ON_CPU: cpu, ("gpu", 1): gpu, ("gpu", 2): two, ("hybrid", 1): hybrid}
    took = {way: Took(each, 0.0) for way, each in seconds.items() if each is not None}
    return Past(iterations, took=took, **more)


def short(value):
    """A readable name of a parameter."""
    named = {id(HERE): "all is there", id(FOUND): "GPU found", id(NEW): "nothing there"}
    return value.kind if isinstance(value, Call) else named.get(id(value))
