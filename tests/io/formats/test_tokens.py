"""Integers in text: read as Python reads them, block by block."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.formats import tokens
from garaph_py.io.read import read
from tests.support.graphs import edges_of
from tests.support.hostile import HOSTILE

EDGES_OF_RANGE = [b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"]


PIECES = [
    *EDGES_OF_RANGE,
    b"0",
    b"-0",
    b"007",
    b"92233720368547758070",
    *[b" ", b"\n"] * 4,
    b"\t",
    b"-",
    b"%",
    b"x",
    b"\0",
]


@HOSTILE
@given(st.lists(st.sampled_from(PIECES)).map(b"".join))
@example(b"")
def test_numbers_as_python_reads_them(block):
    lines = (block if block.endswith(b"\n") else block + b"\n").split(b"\n")[:-1]
    values, counts = [], []
    for number, line in enumerate(lines):
        found = [] if line.startswith(b"%") else [token for token in line.replace(b"\t", b" ").split(b" ") if token]
        if not all(token.lstrip(b"-").isdigit() and -(2**63) <= int(token) < 2**63 for token in found):
            with pytest.raises(tokens.BadLine) as caught:
                tokens.parse(block)
            assert caught.value.line == number
            return
        values += map(int, found)
        counts.append(-1 if line.startswith(b"%") else len(found))
    numbers = tokens.parse(block)
    assert (numbers.values.tolist(), numbers.counts.tolist()) == (values, counts)
    text = np.frombuffer(block + b"\n" * (not block.endswith(b"\n")), np.uint8)
    slow = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    assert tokens.SCAN.function(text, len(text), *slow) == -1
    assert (slow[0][: len(values)].tolist(), slow[1][: len(counts)].tolist()) == (values, counts)


def test_blocks_are_put_together_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "BLOCK", 64)
    n = 500
    ring = b"".join(b"%d %d\n" % ((v - 1) % n + 1, (v + 1) % n + 1) for v in range(n))
    path = tmp_path / "g.graph"
    path.write_bytes(b"%c\n" * 100 + b"%d %d\n" % (n, n) + ring)
    for threads in (1, 3):
        graph = read(path, threads=threads)
        assert edges_of(graph) == sorted((v, u, None) for v in range(n) for u in ((v - 1) % n, (v + 1) % n))
    path.write_bytes(path.read_bytes().replace(b"299 301", b"299 3O1"))
    with pytest.raises(FormatError, match="3O1") as caught:
        read(path)
    assert caught.value.line == 100 + 1 + 300


def test_few_numbers_do_not_keep_the_memory_for_many():
    values = tokens.parse(b"\n" * 10_000 + b"7 8\n").values
    assert values.tolist() == [7, 8]
    assert values.base is None
