"""Matrix Market files: what their reader understands, and what it says about files that are wrong."""

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.errors import FormatError
from garaph_py.io.read import read
from tests.support.contents import mtx, zstd
from tests.support.graphs import edges_of
from tests.support.hostile import HOSTILE, NOISE, changed, cut_everywhere, read_or_typed_error

REAL = mtx("coordinate real general", "3 3 4\n1 2 0.5\n2 2 1e3\n3 1 -1\n3 1 7\n")
REAL_EDGES = [(0, 1, 0.5), (1, 1, 1000.0), (2, 0, -1.0), (2, 0, 7.0)]
SYMMETRIC = mtx("coordinate integer symmetric", "4 4 3\n2 1 5\n3 3 6\n3 1 7\n")
SYMMETRIC_EDGES = [(0, 1, 5), (0, 2, 7), (1, 0, 5), (2, 0, 7), (2, 2, 6)]
SAMPLES = {"r.mtx": REAL, "s.mtx": SYMMETRIC, "r.mtx.gz": gzip.compress(REAL, mtime=0)}


# Accepted


@pytest.mark.spread
@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, zstd])
@pytest.mark.parametrize(
    ("contents", "directed", "edges"),
    [
        (REAL, True, REAL_EDGES),
        (REAL.replace(b"\n", b"\r\n"), True, REAL_EDGES),
        (REAL[:-1], True, REAL_EDGES),
        (REAL.upper().replace(b"MATRIXMARKET", b"MatrixMarket").replace(b"1E3", b"1e3"), True, REAL_EDGES),
        (SYMMETRIC, False, SYMMETRIC_EDGES),
        (mtx("coordinate pattern general", "2 2 2\n1 2\n2 1\n"), True, [(0, 1, None), (1, 0, None)]),
        (mtx("coordinate pattern symmetric", "2 2 1\n2 1\n"), False, [(0, 1, None), (1, 0, None)]),
        (mtx("coordinate real skew-symmetric", "2 2 1\n2 1 3.5\n"), True, [(0, 1, -3.5), (1, 0, 3.5)]),
        (mtx("coordinate integer general", f"2 2 1\n1 2 {-(2**62)}\n"), True, [(0, 1, -(2**62))]),
        (mtx("coordinate real general", "2 2 0\n"), True, []),
    ],
)
def test_matrix_market(tmp_path, contents, directed, edges, compress):
    path = tmp_path / "g.mtx"
    path.write_bytes(compress(contents))
    graph = read(path)
    assert (graph.directed, edges_of(graph)) == (directed, edges)
    assert edges_of(read(path, directed=True)) == edges
    assert read(path, weights=False).edge_dtype is None
    (tmp_path / "other").write_bytes(contents)
    assert read(tmp_path / "other").m == graph.m


def test_a_general_matrix_may_be_symmetric(tmp_path):
    path = tmp_path / "g.mtx"
    path.write_bytes(mtx("coordinate integer general", "2 2 2\n1 2 4\n2 1 4\n"))
    assert edges_of(read(path, directed=False)) == [(0, 1, 4), (1, 0, 4)]
    path.write_bytes(REAL)
    with pytest.raises(FormatError, match="both directions"):
        read(path, directed=False)
    path.write_bytes(mtx("coordinate real skew-symmetric", "2 2 1\n2 1 3.5\n"))
    with pytest.raises(FormatError, match="differ in sign"):
        read(path, directed=False)


# Refused


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        (b"", 1, "no Matrix Market file"),
        (b"1 2\n", 1, "no Matrix Market file; its first line is '1 2'"),
        (b"%%MatrixMarket vector coordinate real general\n3 1\n1 1\n", 1, "no Matrix Market file"),
        (mtx("array real general", "2 2\n1\n2\n3\n4\n"), 1, r"array real general matrix; .* sparse"),
        (mtx("coordinate complex general", "2 2 1\n1 1 1 1\n"), 1, "complex"),
        (mtx("coordinate complex hermitian", "2 2 1\n1 1 1 1\n"), 1, "hermitian"),
        (mtx("coordinate real general", "2 3 1\n1 1 1\n"), 3, "2 x 3 numbers; an adjacency matrix is square"),
        (
            mtx("coordinate real general", "-2 -2 1\n1 1 1\n"),
            3,
            r"\('-2 -2 1'\): not the numbers of rows, columns and entries$",
        ),
        (mtx("coordinate real general", "2 2 -1\n1 1 1\n"), 3, "not the numbers"),
        (mtx("coordinate real general", "4294967297 4294967297 1\n1 1 1\n"), 3, "4294967297 rows"),
        (mtx("coordinate real general", "2 2 281474976710657\n1 1 1\n"), 3, "281474976710657 entries"),
        (mtx("coordinate real general", "2 2 99999999999999999999\n1 1 1\n"), 3, "not the numbers"),
        (
            mtx("coordinate real general", "2 2 1000000\n1 1 1\n"),
            3,
            "1,000,000 entries, but only 79 bytes; it is cut off",
        ),
        (mtx("coordinate integer general", "2 2 2\n1 1 5\n2 2 5.5\n"), 5, "not all 64-bit integers"),
        (mtx("coordinate pattern general", "2 2 1\n1 1 5\n"), 4, "not an entry; write ROW COLUMN, in numbers"),
        (mtx("coordinate real symmetric", "3 3 2\n2 1 1\n2 3 1\n"), 1, "both sides of the diagonal"),
        (mtx("coordinate real general", "9999999 9999999 1\n1 1 1\n"), None, "9,999,999 vertices, but 1 edges"),
        (mtx("coordinate real general", "2 2 1\n1 3 1\n"), 4, "row or column 3, but they are 1 to 2"),
        (mtx("coordinate real general", "2 2 1\n%\n0 1 1\n"), 5, "row or column 0"),
        (
            mtx("coordinate real general", "2 2 2\n1 1 1\n\n1 x 1\n"),
            6,
            r"\('1 x 1'\): not an entry; write ROW COLUMN VALUE, in numbers$",
        ),
        (mtx("coordinate real general", "2 2 1\n1 1 1\n2 2 1\n"), 5, "more than the 1 entries declared"),
        (mtx("coordinate real general", "2 2 2\n1 1 1.00000\n"), None, "1 entries, but 2 are declared"),
        (mtx("coordinate integer general", "2 2 1\n1 1 99999999999999999999\n"), 4, "not all 64-bit integers"),
        (
            b"%%MatrixMarket matrix coordinate real general\n" + b"% no sizes\n" * 100_000,
            None,
            "no line of the numbers",
        ),
        (mtx("coordinate real general", "2 2 1\n" + "1" * (6 << 20)), None, "a line of more than 1,048,576 bytes"),
    ],
)
def test_malformed_matrix_market(tmp_path, contents, line, message):
    path = tmp_path / "g.mtx"
    for compress in (bytes, gzip.compress, zstd):
        path.write_bytes(compress(contents))
        if compress is not bytes and "bytes; it is cut off" in message:
            line, message = None, "1 entries, but 1,000,000 are declared"  # what it decompresses to, nobody knows yet
        with pytest.raises(FormatError, match=message) as caught:
            read(path)
        assert caught.value.line == line


def test_progress_and_errors_of_the_listener(tmp_path):
    path = tmp_path / "g.mtx"
    lines = "".join(f"{number % 1000 + 1} 1 1.25\n" for number in range(600_000))
    path.write_bytes(mtx("coordinate real general", f"1000 1000 600000\n{lines}"))
    seen = []
    assert read(path, on_event=seen.append).m == 600_000
    steps = [event for event in seen if isinstance(event, events.Step) and event.name == "reading"]
    assert len(steps) > 2
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == path.stat().st_size

    def fail(event):
        if event.done:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$"):
        read(path, on_event=fail)


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_files(tmp_path, name):
    whole = read_or_typed_error(tmp_path / name, SAMPLES[name])
    cut_everywhere(tmp_path / name, SAMPLES[name], lambda graph: edges_of(graph) == edges_of(whole))


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(contents=NOISE)
def test_random_files(tmp_path, name, contents):
    beginning = SAMPLES[name][: SAMPLES[name].find(b"\n") + 1]
    read_or_typed_error(tmp_path / name, beginning * (len(contents) % 3 > 0) + contents)


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(st.data())
def test_changed_files(tmp_path, name, data):
    asked = {"directed": data.draw(st.sampled_from([None, False]))}
    read_or_typed_error(tmp_path / name, data.draw(changed(SAMPLES[name])), **asked)


def test_values_that_no_float_holds(tmp_path):
    header = "%%MatrixMarket matrix coordinate real general\n2 2 1\n"
    (tmp_path / "m.mtx").write_text(header + "1 2 1e400\n")
    with pytest.raises(FormatError, match=r"line 3 .*: weight 1e400 does not fit a float64"):
        read(tmp_path / "m.mtx")
