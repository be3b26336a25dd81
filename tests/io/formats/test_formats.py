"""What formats have in common: by what a file's format is known, weights as asked for, progress."""

import gzip
import os
import struct
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import FormatError, ParameterError
from garaph_py.io.formats import format_of
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.support.contents import DIMACS, LIGRA, PAIRS, PLAIN, galois, mtx, zstd
from tests.support.graphs import DIRECTED


@pytest.mark.parametrize(
    ("contents", "name"),
    [
        (DIMACS, "dimacs"),
        (b"p sp 1 0\n", "dimacs"),
        (b"\r\n\nc\r\np sp 1 0\r\n", "dimacs"),
        (gzip.compress(DIMACS, mtime=0), "dimacs"),
        (PLAIN, "galois"),
        (galois(2, 0, [1], [0]), "galois"),
        (gzip.compress(PLAIN, mtime=0), "galois"),
    ],
)
def test_the_contents_select_the_format(tmp_path, contents, name):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    assert format_of(path).name == name


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\n",
        b"1 2\n",
        b"a 1 2 3\n",
        b"cat\n",
        b"problem\n",
        b"c \0",
        struct.pack("<Q", 3),
        PLAIN[:7],
        b"\xff" * 40,
    ],
)
def test_what_is_neither_format_is_refused(tmp_path, contents):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=r"neither dimacs .* nor galois"):
        read(path)
    for name in ("dimacs", "galois"):
        with pytest.raises(FormatError):
            read(path, format=name)


def test_what_is_written_must_be_said(tmp_path):
    path = tmp_path / "g.gr"
    with pytest.raises(ParameterError, match="dimacs and galois"):
        write(DIRECTED, path)
    for name in ("dimacs", "galois"):
        write(DIRECTED, path, format=name)
        assert format_of(path).name == name
        assert read(path).m == 3


def test_a_galois_file_without_suffix_is_told(tmp_path):
    for version in (1, 2):
        (tmp_path / "graph").write_bytes(galois(version, 0, [1], [0]))
        assert format_of(tmp_path / "graph").name == "galois"


def test_progress_grows_and_ends_at_its_total(tmp_path, monkeypatch):
    monkeypatch.setattr("garaph_py.io.formats.dimacs.BLOCK", 16)
    for name in ("dimacs", "galois"):
        seen: list = []
        write(DIRECTED, tmp_path / name, format=name, on_event=seen.append)
        read(tmp_path / name, format=name, on_event=seen.append)
        for kind in ("writing", "reading"):
            steps = [event for event in seen if isinstance(event, events.Step) and event.name == kind]
            assert [step.done for step in steps] == sorted(step.done for step in steps)
            assert steps[-1].done == steps[-1].total > 0


def test_weights_of_adjacency_lists_as_asked(tmp_path):
    for name, contents in (("g.graph", b"2 1\n2\n1\n"), ("g.adj", LIGRA)):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(FormatError, match="no edge weights"):
            read(tmp_path / name, weights=True)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_counts_of_compressed_files_are_held_against_memory(tmp_path, monkeypatch, compress):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**30})())
    for name, contents in (("g.graph", b"9 9999999999\n"), ("g.adj", b"AdjacencyGraph\n9\n9999999999\n")):
        (tmp_path / name).write_bytes(compress(contents))
        with pytest.raises(FormatError, match=r"1\.0 GiB of memory are free"):
            read(tmp_path / name)


def test_weights_of_matrices_as_asked(tmp_path):
    for name, contents in (("g.mtx", mtx("coordinate pattern general", "2 2 1\n1 2\n")), ("g.npy", PAIRS)):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(FormatError, match="weights"):
            read(tmp_path / name, weights=True)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz", ".tsv", ".mtx", ".properties"])
def test_names_may_have_any_bytes(tmp_path, suffix):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff" + suffix.encode()))
    write(gp.from_edges([0, 1], [1, 2]), path)
    assert read(path).m == 2
