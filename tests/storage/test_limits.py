"""The limits of edge values in the manifest: they spare a pass over the values, and false ones are found."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.blocks import UNIT
from garaph_py.codec.format import RECORD, RECORD_BYTES
from garaph_py.errors import DamagedGraphError, FormatError, GraphError
from garaph_py.storage import directory as store
from garaph_py.storage.reader import ArrayReader
from garaph_py.storage.restripe import restripe
from garaph_py.storage.upgrade import upgrade
from tests.support.crashes import Crash, calls_of
from tests.support.stored_graphs import as_version_2, hub, opened, rewrite, setting

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("read_like_large_graphs")

SOURCES = np.arange(4000) % 80


def weighted(weights, directed=True):
    return gp.from_edges(SOURCES, (SOURCES * 7 + np.arange(4000) // 80) % 80, weights=weights, directed=directed)


LENGTHS = gp.rmat(12, 16, directed=False, weights=(3, 200))
ENCODINGS = pytest.mark.parametrize("encoding", ["raw", "packed"])


@pytest.fixture(params=["raw", "packed"])
def path(request, tmp_path):
    store.save(LENGTHS, tmp_path / "g", encoding=request.param, block_bytes=4 * UNIT)
    return tmp_path / "g"


def limits(path, name="in_values"):
    return store.info(path).arrays[name].limits


def forged(path, least, most):
    rewrite(path, setting("arrays", "in_values", "limits", [least, most]))


@pytest.mark.spread
@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        (np.arange(-5, 3995), np.int32),
        (np.arange(4000) + 2**62, np.int64),
        (np.full(4000, 2**32 - 1), np.uint32),
        (np.linspace(-2, 0.1, 4000), np.float32),
        (np.append(np.ones(3999), np.inf), np.float64),
        (np.append(np.ones(3999), np.nan), np.float64),
    ],
)
@ENCODINGS
def test_values_are_within_their_limits(tmp_path, weights, dtype, encoding):
    weights = weights.astype(dtype)
    store.save(weighted(weights), tmp_path / "g", encoding=encoding, block_bytes=UNIT)
    for name in ("in_values", "out_values"):
        found = limits(tmp_path / "g", name)
        assert found.least.dtype == found.most.dtype == dtype
        np.testing.assert_equal(found.least, weights.min())
        if encoding == "raw" or found.most.dtype.kind == "f":
            np.testing.assert_equal(found.most, weights.max())
        else:
            assert 0 <= int(found.most) - int(weights.max()) < 2**12
    assert store.verify(tmp_path / "g") == []
    np.testing.assert_array_equal(np.sort(store.open(tmp_path / "g")._arrays.in_edges.values), np.sort(weights))


def test_graphs_without_values_have_no_limits(tmp_path):
    store.save(gp.from_edges([0, 1], [1, 2]), tmp_path / "plain")
    assert all(array.limits is None for array in store.info(tmp_path / "plain").arrays.values())
    store.save(gp.from_edges([], [], weights=np.zeros(0, np.int32)), tmp_path / "empty")
    assert limits(tmp_path / "empty") is None
    assert store.verify(tmp_path / "empty") == []


def test_a_search_reads_no_lengths_before_it_begins(path, monkeypatch):
    monkeypatch.setattr(ArrayReader, "slice", lambda *_: pytest.fail("read for their limits"))
    program, expected = gp.apps.SSSP(hub(LENGTHS)), run_with(gp.apps.SSSP(hub(LENGTHS)), LENGTHS, device="cpu")
    np.testing.assert_array_equal(run_with(program, opened(path, 400_000), device="cpu").values, expected.values)


def test_an_older_graph_is_read_for_its_limits(path):
    as_version_2(path)
    assert limits(path) is None
    found = opened(path, 400_000)._arrays.value_limits
    assert found.least == 3
    assert 200 <= found.most <= 258
    upgrade(path)
    assert limits(path) == found


def test_a_restripe_finds_limits(path, tmp_path):
    known = limits(path)
    as_version_2(path)
    (tmp_path / "disk").mkdir()
    restripe(path, [tmp_path / "disk"])
    assert limits(path) == known


def test_an_upgrade_from_version_2_that_dies_leaves_the_graph(path, monkeypatch, tmp_path):
    """Its files about parts are those of the new version, too."""
    known, whole = store.info(path), {file.name for file in path.iterdir()}
    as_version_2(path)
    points, _ = calls_of(monkeypatch, lambda: upgrade(path))
    for point in points:
        as_version_2(path)
        _, raised = calls_of(monkeypatch, lambda: upgrade(path), die_at=point)
        assert isinstance(raised, Crash)
        assert store.verify(path) == []
        assert upgrade(path) == known
        assert {file.name for file in path.iterdir()} == whole


@ENCODINGS
def test_a_negative_length_is_refused(tmp_path, encoding):
    weights = np.arange(1, 4001)
    weights[1234] = -7
    store.save(weighted(weights), tmp_path / "g", encoding=encoding, block_bytes=UNIT)
    with pytest.raises(GraphError, match="has -7; remove or change such edges"):
        run_with(gp.apps.SSSP(0), opened(tmp_path / "g", 90_000), device="cpu")


# False limits.


@pytest.mark.spread
@pytest.mark.parametrize(("least", "most"), [("4", "255"), ("3", "199"), ("0", "10"), ("201", "255")])
def test_false_limits_are_found_when_a_block_is_first_read(path, least, most):
    forged(path, least, most)
    wrong = f"an edge value is not from {least} to {most}, as the manifest says"
    with pytest.raises(DamagedGraphError, match=wrong):
        store.open(path)
    assert any(wrong in str(problem) for problem in store.verify(path))
    for mode in ("pull", "push"):  # whole pages, and lists
        with pytest.raises(DamagedGraphError, match=wrong):
            run_with(gp.apps.SSSP(hub(LENGTHS)), opened(path, 400_000), device="cpu", mode=mode)


def test_false_limits_are_found_in_a_part_of_a_block(path):
    forged(path, "4", "255")
    edges = opened(path, 400_000)._arrays.in_edges
    place = int(np.argmin(LENGTHS._arrays.in_edges.values))
    array = edges.value_array
    array.keep_parts(True)
    plan = array.plan(array.span(place, place + 1), ranges=np.array([[place, place + 1]]))
    data, records = np.zeros(plan.nbytes, np.uint8), np.zeros(array.records_bytes(range(1)) // RECORD_BYTES, RECORD)
    stored, (reads,) = np.fromfile(path / "in_values.data", np.uint8), plan.parts
    for at, offset, needed in zip(reads.places, reads.offsets, reads.needed, strict=True):
        data[at : at + needed] = stored[offset : offset + needed]
    with pytest.raises(DamagedGraphError, match="an edge value is not from 4 to 255"):
        array.take_parts(reads, data, plan, records)


def test_limits_that_are_too_wide_are_found_by_verify(path):
    known = limits(path)
    forged(path, "-5", "300")
    (problem,) = store.verify(path)
    assert f"in_values are from -5 to 300, and not 3 to {known.most}" in str(problem)
    with pytest.raises(GraphError, match="out-edges have -5"):
        run_with(gp.apps.SSSP(hub(LENGTHS)), opened(path, 400_000), device="cpu")


@pytest.mark.parametrize(
    "value", [None, [], ["1"], ["1", "2", "3"], [1, 2], ["2", "1"], ["1", "3000000000"], ["a", "b"], "12", [["1"], "2"]]
)
def test_limits_that_are_none_are_refused(path, value):
    rewrite(path, setting("arrays", "in_values", "limits", value))
    with pytest.raises(FormatError, match=r"in_values: limits are"):
        store.open(path)
