"""The memory for decompressing a file, as its headers say, and that it is taken from what is allowed."""

import lzma
import random

import pyarrow as pa
import pytest

from garaph_py.errors import FormatError
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
from garaph_py.io.formats.windows import decoder_memory
from garaph_py.io.load import LoadOptions, load

MIB = 1 << 20
LONG = b"1 2\n" * MIB
TWO_BYTES = b"\x28\xb5\x2f\xfd\x60\x00\x0f"
"""The beginning of a frame of zstd in one piece, whose size has two bytes."""


def zstd(data, level=3):
    return pa.Codec("zstd", level).compress(data, asbytes=True)


def streamed(data):
    """A frame of zstd that does not know its size when it begins."""
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("contents", "most"),
    [
        (LONG, 0),
        (b"", 0),
        (lzma.compress(LONG, preset=0), 1.25 * MIB),
        (lzma.compress(LONG, preset=6), 9 * MIB),
        (lzma.compress(LONG, preset=9), 65 * MIB),
        (lzma.compress(LONG, filters=[{"id": lzma.FILTER_DELTA}, {"id": lzma.FILTER_LZMA2, "preset": 6}]), 9 * MIB),
        (zstd(LONG, 19), 5 * MIB),
        (zstd(LONG[:100]), MIB + 100),
        (TWO_BYTES, MIB + 256 + 15 * 256),
        (zstd(b"1 2\n") + zstd(LONG, 19) + zstd(b"1 2\n"), 5 * MIB),
        (b"\x28\xb5\x2f\xfd\x00\x58" + b"\x21\0\0" + b"1 2\n", 3 * MIB),
        (b"\x28\xb5\x2f\xfd", MIB + 1024),
        (b"\xfd7zXZ\x00", MIB),
    ],
)
def test_headers_say_how_much_memory_it_takes(tmp_path, contents, most):
    path = tmp_path / "file"
    path.write_bytes(contents)
    assert decoder_memory(path) == most
    if contents.startswith(b"\xfd7zXZ") and len(contents) > 6:
        assert lzma.LZMADecompressor(memlimit=decoder_memory(path)).decompress(contents) == LONG


def test_frames_of_unknown_size_have_a_window(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(streamed(LONG))
    window = decoder_memory(path) - MIB
    assert 1 << 17 <= window <= 8 * MIB
    path.write_bytes(streamed(LONG) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(LONG[: 2 * MIB], 19))
    assert decoder_memory(path) == MIB + max(window, 2 * MIB)


@pytest.mark.slow
@pytest.mark.parametrize("contents", [lzma.compress(LONG[:4000]), zstd(LONG[:4000]), streamed(LONG)])
def test_damaged_headers_count_as_far_as_they_go(tmp_path, contents):
    rng, path = random.Random(1), tmp_path / "file"
    for _ in range(1000):
        damaged = bytearray(contents)
        for _ in range(3):
            damaged[rng.randrange(4, min(len(damaged), 40))] = rng.randrange(256)
        path.write_bytes(damaged[: rng.randrange(4, len(damaged) + 1)])
        assert decoder_memory(path) >= 0


EDGES = b"".join(b"%d %d\n" % (k, k % 7) for k in range(1000))


def imported(path, memory):
    return import_file(path, path.with_name(f"graph-of-{path.name}"), ImportOptions(), memory=memory).edges


def loaded(path, memory):
    return load(path, LoadOptions(memory=memory)).m


@pytest.mark.parametrize(("read", "name"), [(imported, "edges.txt.xz"), (loaded, "edges.txt.xz"), (loaded, "g.gr.xz")])
def test_it_is_taken_from_what_is_allowed(tmp_path, read, name):
    path = tmp_path / name
    text = EDGES if name.startswith("edges") else b"p sp 2 1\na 1 2 3\n"
    path.write_bytes(lzma.compress(text, preset=9))
    allowed = r"the buffers to decompress it take 65.0 MiB of memory, and 64.0 MiB may be used; allow more .*: xz -6"
    with pytest.raises(FormatError, match=allowed):
        read(path, 64 * MIB)
    assert read(path, 66 * MIB) in (1, 1000)
    path.write_bytes(lzma.compress(text, preset=6))
    path = path.rename(tmp_path / f"smaller-{name}")
    assert read(path, 64 * MIB) in (1, 1000)


@pytest.mark.parametrize("format", ["text", "dimacs", "matrix-market", "metis", "ligra"])
def test_a_later_stream_takes_no_more_than_the_first(tmp_path, format):
    path = tmp_path / "edges.xz"
    path.write_bytes(lzma.compress(b"\n", preset=0) + lzma.compress(b"1 2\n", preset=9))
    with pytest.raises(FormatError, match="decompressing it takes too much memory"):
        load(path, LoadOptions(format=format, memory=256 * MIB))
