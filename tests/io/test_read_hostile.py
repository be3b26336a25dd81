"""Hostile files: whatever a file contains, its reader gives a graph or a typed error, in little memory.

The inputs are those of scripts/attacks/fuzz.py, which reads many more.
"""

import random
import struct
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.graph.build import from_edges
from garaph_py.io.formats import FORMATS
from garaph_py.io.read import read
from garaph_py.io.write import write
from garaph_py.storage import directory as store
from tests.support.contents import npz

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from attacks import reading, samples

NAMES = [format.name for format in FORMATS]
samples_of = cache(samples.samples_of)


@pytest.mark.full
@pytest.mark.parametrize("name", samples.TARGETS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**63))
def test_mutated_files(name, number):
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(number)
        one = samples.changed(rng.choice(samples_of(name)), samples_of(name), (), rng)
        one.pack(one.parts, Path(folder))
        outcome, note, _ = reading.attempt(Path(folder, one.entry), name)
    assert outcome != reading.BAD, note


# Truncation


SHORTENED_UNSEEN = ("text", "graphalytics")
"""Files that do not say how long they are: cut off after a line they are whole."""
LAST_NUMBER = 12
"""Bytes at the end of a file of text which may be a line end and the last digits of a number."""


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_truncation_at_every_length(tmp_path, name):
    format = next(format for format in FORMATS if format.name == name)
    entry = tmp_path / f"g{format.suffixes[0]}"
    write(from_edges([1, 2, 3], [2, 3, 1], [100, 200, 300], directed=False), entry, format=name)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            outcome, note, _ = reading.attempt(entry, name)
            assert outcome != reading.BAD, (path.name, length, note)
            if name not in SHORTENED_UNSEEN and length < len(whole) - LAST_NUMBER:
                assert outcome != reading.READ, (path.name, length)
        path.write_bytes(whole)
    assert reading.attempt(entry, name)[0] == reading.READ


# Damage to a graph directory of 64 KiB; scripts/attacks/damage.py does everything to smaller ones


@pytest.mark.full
def test_a_changed_byte_is_detected(tmp_path):
    sample = samples.large_directory()
    sample.pack(sample.parts, tmp_path)
    places = [(name, place) for name, data in sample.parts.items() for place in range(len(data))]
    assert len(places) > 64 << 10
    random.Random(time.time_ns()).shuffle(places)
    start = time.perf_counter()
    for number, (name, place) in enumerate(places):
        if number > 4000 and time.perf_counter() - start > 5:
            break
        with open(tmp_path / name, "r+b", buffering=0) as file:
            for byte in (sample.parts[name][place] ^ 1 << place % 8, sample.parts[name][place]):
                file.seek(place)
                file.write(bytes([byte]))
                if byte == sample.parts[name][place]:
                    continue
                if name.endswith((".sums", "out_values.data")):  # whole blocks have sums of their own; values are made
                    assert store.verify(tmp_path / "g", threads=1)
                    continue
                with pytest.raises(FormatError):
                    store.open(tmp_path / "g", threads=1)
    reading.check(store.open(tmp_path / "g"))


# Memory


MANY = 2**40
LIARS = {
    "g.sg": struct.pack("<?qq", True, MANY, 3) + bytes(4096),
    "g.wsg": struct.pack("<?qq", False, MANY, 2**31) + bytes(4096),
    "v1.gr": struct.pack("<4Q", 1, 4, 3, MANY) + bytes(4096),
    "v2.gr": struct.pack("<4Q", 2, 0, 2**32, MANY) + bytes(4096),
    "arcs.gr": b"p sp 3 %d\na 1 2 3\n" % MANY,
    "vertices.gr": b"p sp %d 1\na 1 2 3\n" % 2**32,
    "g.mtx": b"%%%%MatrixMarket matrix coordinate real general\n3 3 %d\n1 2 3\n" % MANY,
    "rows.mtx": b"%%%%MatrixMarket matrix coordinate real general\n%d %d 1\n1 2 3\n" % (2**32, 2**32),
    "g.graph": b"3 %d\n2\n1 3\n2\n" % MANY,
    "vertices.graph": b"%d 1\n2\n1\n" % 2**32,
    "g.adj": b"AdjacencyGraph\n3\n%d\n0\n1\n2\n1\n2\n0\n" % MANY,
    "g.v": b"1\n",
    "vertices.npz": npz(src=[0], dst=[0], n=2**30),
}


@pytest.mark.parametrize("name", LIARS)
def test_what_a_file_declares_takes_no_memory(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(LIARS[name])
    if name == "g.v":
        (tmp_path / "g.e").write_text("1 1\n")
        (tmp_path / "g.properties").write_text(f"graph.g.directed = true\ngraph.g.meta.edges = {MANY}\n")
    for _ in range(2):  # what the first imports and compiles does not count
        before = reading.reset_peak()
        with pytest.raises(FormatError):
            read(path, threads=1)
        grown = reading.peak_memory() - before
    assert grown < 64 << 20
