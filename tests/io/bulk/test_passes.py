"""Passes over the edges: as few as the disks have room for, each for the lists of some vertices."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import DiskFullError
from garaph_py.graph import generate
from garaph_py.io import collect
from garaph_py.io.bulk import build, passes
from garaph_py.io.bulk.build import ImportOptions, write_external
from garaph_py.io.bulk.drawn import Drawn
from garaph_py.io.bulk.import_ import write_random
from garaph_py.io.bulk.scan import EdgeSource, KnownCounts
from garaph_py.io.formats.format import EdgeList
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from tests.support.graphs import equal

DISK = Path("disk")


@pytest.mark.parametrize(
    ("free", "there", "expected"),
    [(1700, 0, 1), (1000, 700, 1), (1699, 0, 2), (500, 0, 4), (300, 0, 8), (200, 0, 16), (199, 0, 16)],
)
def test_as_few_as_the_disk_has_room_for(free, there, expected, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=free))
    assert passes.fewest_passes(lambda count: {DISK: 100 + 1600 // count}, {DISK: there}) == expected


@given(st.integers(1, 5000), st.integers(1, 16), st.lists(st.integers(0, 4999), max_size=300), st.booleans())
def test_ranges_hold_all_vertices_and_about_as_many_entries(n, count, owners, few_classes):
    owners = np.array([owner % n for owner in owners], np.uint32)
    with ThreadPool(2) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "CLASSES", 64 if few_classes else passes.CLASSES)
        width = 1 << max((n - 1).bit_length() - (passes.CLASSES - 1).bit_length(), 0)  # of a class
        ranges, largest = passes.owner_ranges(np.array_split(owners, 3), n, count, pool)
    assert [vertex for some in ranges for vertex in some] == list(range(n))
    assert len(ranges) <= count
    entries = [int(((owners >= some.start) & (owners < some.stop)).sum()) for some in ranges]
    assert largest == pytest.approx(max(entries) / max(len(owners), 1))
    assert max(entries) <= len(owners) / count + np.bincount(owners // width, minlength=1).max()


@pytest.mark.spread
@pytest.mark.parametrize("weights", [None, (1, 9)])
@pytest.mark.parametrize("directed", [True, False])
def test_a_disk_with_little_room_gets_the_same_graph(tmp_path, monkeypatch, directed, weights):
    monkeypatch.setattr(collect, "SORTING", 1 << 50)  # out of core
    monkeypatch.setattr(build, "forgets", lambda folder: False)
    monkeypatch.setattr(Drawn, "count", lambda self, reverse: False)  # memory is too small
    edges, options = generate.random_rmat(12, 40, weights=weights), ImportOptions(directed=directed, encoding="raw")
    width, steps = 4 * (weights is not None), []
    write_random(edges, tmp_path / "there", options, memory="1GiB", threads=2)
    data = 8 * ((1 << 12) + 1) * (1 + directed) + 2 * (4 + width) * edges.count
    keys = (2 + width) * edges.count * (2 - directed)  # those of one direction at a time
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=data + int(0.3 * keys)))
    write_random(edges, tmp_path / "here", options, memory="1GiB", threads=2, on_event=steps.append)
    told = {step.name for step in steps if "edges (" in step.name}
    assert told == {f"distributing edges ({k} of 4)" for k in range(1, 5)}
    here, there = (store.open(tmp_path / name) for name in ("here", "there"))
    assert equal(here, there)


@pytest.mark.parametrize(("shrinks", "passes"), [(True, 1), (False, 8)])
@pytest.mark.parametrize("directed", [True, False])
def test_files_that_shrink_need_less_room(tmp_path, monkeypatch, directed, shrinks, passes):
    """The keys take 3 bytes, and the edges 4: there is room for the edges, and a bit more."""
    monkeypatch.setattr(build, "forgets", lambda folder: shrinks)
    ends, steps = np.random.default_rng(1).integers(0, 1 << 14, (2, 50_000), np.uint32), []
    known = KnownCounts(1 << 14, 50_000, None)
    source = EdgeSource(lambda listener: iter([EdgeList(*ends, None)]), True, known=known)
    data, keys = 8 * ((1 << 14) + 1) * (1 + directed) + 4 * 2 * 50_000, 3 * 50_000 * (2 - directed)
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=data + keys // 6))
    options = ImportOptions(directed=directed, encoding="raw")
    write_external(source, tmp_path / "graph", options, 1 << 28, on_event=steps.append)
    names = {step.name for step in steps if step.name.startswith("distributing")}
    assert len(names) == passes
    assert not store.verify(tmp_path / "graph")


def test_a_range_for_which_there_is_no_room_is_told_before_it_is_sorted(tmp_path, monkeypatch):
    """A star: one vertex has half of all entries, which no number of passes divides."""
    ends = np.arange(1, 20_001, dtype=np.uint32)
    known = KnownCounts(len(ends) + 1, len(ends), None)
    source = EdgeSource(lambda listener: iter([EdgeList(np.zeros_like(ends), ends, None)]), True, known=known)
    data = 8 * (len(ends) + 2) + 4 * 2 * len(ends)
    monkeypatch.setattr(build, "forgets", lambda folder: False)
    monkeypatch.setattr(shutil, "disk_usage", lambda disk: SimpleNamespace(free=data + len(ends)))
    steps = []
    with pytest.raises(DiskFullError, match=r"the graph and its temporary files need"):
        write_external(
            source, tmp_path / "graph", ImportOptions(directed=False, encoding="raw"), 1 << 28, on_event=steps.append
        )
    assert {step.name for step in steps if "edges" in step.name} >= {"counting edges"}
    assert not [step for step in steps if "distributing" in step.name]
    assert list(tmp_path.iterdir()) == []
