"""Contents of files that tests read: compressed ones, arrays, archives, tables, and small graphs in several formats."""

import gzip
import io
import lzma
import struct

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp


def zstd(data):
    return pa.Codec("zstd", 3).compress(data, asbytes=True)


COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd}


TABLE = pa.table({"source": pa.array([1, 2, 2], pa.int64()), "target": [2, 3, 2], "weight": [0.5, 1.5, 2.5]})


def write_arrow_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


TABLE_WRITERS = {
    "g.parquet": pa.parquet.write_table,
    "g.feather": pa.feather.write_feather,
    "plain.arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    "stream.arrow": write_arrow_stream,
}


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def sparse_npz(matrix):
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()


COO = sp.coo_array((np.array([5, 6, 7]), ([0, 1, 1], [1, 0, 1])), (4, 4))


def npy(header, data=b""):
    text = header.encode() + b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


DIMACS = b"c roads\nc\n\np sp 4 3\nc now the arcs\na 1 2 7\nc between\na 3 1 -2\na 1 3 5"


def galois(version, data_bytes, ends, targets, data=(), padding=None):
    letter = {1: "I", 2: "Q"}[version]
    if padding is None:
        padding = len(targets) % 2
    head = struct.pack("<4Q", version, data_bytes, len(ends), len(targets)) + struct.pack(f"<{len(ends)}Q", *ends)
    return (
        head
        + struct.pack(f"<{len(targets)}{letter}", *targets)
        + b"\0" * padding * struct.calcsize(letter)
        + bytes(struct.pack(f"<{len(data)}i", *data))
    )


PLAIN = galois(1, 0, [2, 2, 3, 3], [1, 2, 0])


STRINGS = pa.table({"from": ["a", "b"], "to": ["b", "é"]})


METIS = b"% five\n5 4 001\n2 7 3 -1\n1 7\n4 9 1 -1\n3 9 5 2\n4 2\n"


LIGRA = b"AdjacencyGraph\n4\n5\n0\n2\n2\n5\n3\n1\n0\n0\n1\n"  # not ascending


def mtx(kind, lines):
    return f"%%MatrixMarket matrix {kind}\n% made by hand\n{lines}".encode()


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


PAIRS = saved(np.array([[1, 2], [7, 1], [1, 2]]))
