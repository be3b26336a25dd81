"""Reads of disks that fail, or that the kernel does not take at once."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from garaph_py.storage import aio
from garaph_py.storage.aio import Reads, Scatter
from garaph_py.storage.disks import ALIGNMENT


def one_by_one(monkeypatch):
    """The kernel does not offer asynchronous reads."""
    monkeypatch.setattr(aio, "IDLE_CONTEXTS", [])
    monkeypatch.setattr(aio, "SYSCALLS", {})


@pytest.fixture(params=["at once", "one by one"])
def kernel_reads(request, monkeypatch):
    if request.param == "one by one":
        one_by_one(monkeypatch)
    return request.param


def shortened(views):
    """Only the first sector of what is to be read, or of each part."""
    if isinstance(views, Scatter):
        return replace(views, nbytes=np.minimum(views.nbytes, ALIGNMENT))
    return [views[0][:ALIGNMENT]]


def failing(monkeypatch, fails, shortens=lambda number: False):
    """Of the reads that are begun, numbered from 1, some end with an error, or read one sector.

    `fails` takes a number and returns that of an error, or 0. Returns the list of the numbers.
    """
    begin, wait, numbers, wrong = Reads.begin, Reads.wait, [], dict[int, int]()
    lock = threading.Lock()

    def begins(self, key, handle, views, offset):
        with lock:
            numbers.append(len(numbers) + 1)
            mine = numbers[-1]
        wrong[id(key)] = fails(mine)
        begin(self, key, handle, shortened(views) if shortens(mine) else views, offset)

    def waits(self):
        return [(key, -wrong[id(key)] if wrong[id(key)] else result) for key, result in wait(self)]

    monkeypatch.setattr(Reads, "begin", begins)
    monkeypatch.setattr(Reads, "wait", waits)
    return numbers
