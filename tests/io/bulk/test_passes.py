"""Passes over the edges: as few as the disks have room for, each for the lists of some vertices."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.graph import generate
from garaph_py.io import collect
from garaph_py.io.bulk import passes
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store

DISK = Path("disk")


@pytest.mark.parametrize(
    ("free", "there", "expected"),
    [(1700, 0, 1), (1000, 700, 1), (1699, 0, 2), (500, 0, 4), (300, 0, 8), (200, 0, 16), (199, 0, 1)],
)
def test_as_few_as_the_disk_has_room_for(free, there, expected, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=free))
    assert passes.fewest_passes(lambda count: {DISK: 100 + 1600 // count}, {DISK: there}) == expected


@given(st.integers(1, 5000), st.integers(1, 16), st.lists(st.integers(0, 4999), max_size=300))
def test_ranges_hold_all_vertices_and_about_as_many_entries(n, count, owners):
    owners = np.array([owner % n for owner in owners], np.uint32)
    with ThreadPool(2) as pool:
        ranges = passes.owner_ranges(np.array_split(owners, 3), n, count, pool)
    assert [vertex for some in ranges for vertex in some] == list(range(n))
    assert len(ranges) <= count
    largest = np.bincount(owners >> max((n - 1).bit_length() - 10, 0), minlength=1).max()  # of a class
    for some in ranges:
        assert ((owners >= some.start) & (owners < some.stop)).sum() <= len(owners) / count + largest


def test_a_disk_with_little_room_gets_the_same_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "SORTING", 1 << 50)  # out of core
    edges, options = generate.random_rmat(12, 16), ImportOptions(directed=False, encoding="raw")
    write_random(edges, tmp_path / "there", options, memory="1GiB")
    data = 2 * 8 * ((1 << 12) + 1) + 4 * 2 * edges.count
    steps = []
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=data + 5 * edges.count))
    write_random(edges, tmp_path / "here", options, memory="1GiB", on_event=steps.append)
    assert {step.name for step in steps if "edges (" in step.name} == {
        f"distributing edges ({k} of 4)" for k in range(1, 5)
    }
    here, there = (store.open(tmp_path / name)._arrays.in_edges for name in ("here", "there"))
    np.testing.assert_array_equal(here.offsets, there.offsets)
    np.testing.assert_array_equal(np.asarray(here.neighbours), np.asarray(there.neighbours))
