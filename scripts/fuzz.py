"""Does any file hurt? Mutates valid files of every format, graph directories and packed blocks, and reads them.

Each format is read by a worker process with a limit on its memory. A file must give a well-formed graph or a typed
error that names it; anything else counts as a crash: another exception, a warning, a dead process, or more memory than
twice the arrays (of the graph or, if there is none, of the file) and 64 MiB. A worker that says nothing for a while
hangs and is replaced. Packed blocks go to the decoder without their checksums (`fuzz_blocks.py`). Input k of a seed is
always the same, so that what fails can be read again.

    python scripts/fuzz.py --save docs/results/fuzz.md
    python scripts/fuzz.py --inputs 1 --first 4711 metis
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import io
import json
import multiprocessing
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fuzz_blocks
import numpy as np
from fuzz_mutations import mutated

import garaph_py as gp
from garaph_py.codec.blocks import UNIT
from garaph_py.errors import FormatError, GaraphError, GraphError
from garaph_py.graph import Graph
from garaph_py.io.formats import FORMATS
from garaph_py.io.formats.streams import COMPRESSED_SUFFIXES
from garaph_py.storage import blocks, manifest, write
from garaph_py.storage import directory as store
from garaph_py.storage.encode import raw_blocks
from garaph_py.storage.progress import Progress

MIB = 1 << 20
ALLOWANCE = 64 * MIB
ADDRESSES = 2 << 30  # what a worker may map beyond what it starts with
PLAIN_SHARE = 6  # of every 9 samples that may be compressed: damage to those seldom reaches the parser
SEVERAL_BLOCKS = 4  # samples of directories whose packed arrays have more than one, beside 10 others
DIRECTORY, EVERY_BYTE, BLOCK = "graph directory", "graph directory, each byte changed", "packed block"
Parts = dict[str, bytes]


@dataclass
class Sample:
    """A valid graph in parts that are mutated one by one.

    Attributes
    ----------
    entry : str
        The file to read, or the directory.
    parts : dict of str to bytes
        Files by name, unless `pack` makes the files of them.
    pack : callable
        ``pack(parts, folder)`` writes them; where files carry checksums it can give a mutated part a right one.
    """

    entry: str
    parts: Parts
    pack: Callable[[Parts, Path], None]


def write_parts(parts: Parts, folder: Path) -> None:
    for name, data in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def files_in(folder: Path) -> Parts:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def graphs() -> list[Graph]:
    """What the samples hold: directed or not; with weights, names, vertices without edges, parallel edges, or none."""
    sources, targets = np.random.default_rng(1).integers(0, 40, (2, 90))
    whole, fractions = np.arange(90, dtype=np.int32) - 9, np.arange(90) / 7
    names = [f"vertex {number} é" for number in range(40)]
    found = [
        gp.from_edges(sources, targets, weights, vertices=vertices, directed=directed)
        for directed in (True, False)
        for weights in (None, whole, fractions)
        for vertices in (None, np.arange(45))
    ]
    simple = {"directed": False, "drop_parallel": True, "drop_self_loops": True}
    found += [gp.from_edges(sources, targets, weights, **simple) for weights in (None, whole)]
    return [*found, gp.from_edges(np.take(names, sources), np.take(names, targets), fractions)]


def samples_of(name: str) -> list[Sample]:
    """Valid graphs of the format `name`, as its writer makes them."""
    if name == EVERY_BYTE:
        return [large_directory()]
    if name == DIRECTORY:
        chosen = [(graph, encoding) for graph in graphs()[1::3] for encoding in ("raw", "packed")]
        chosen += [(of_several_blocks(), "packed")] * SEVERAL_BLOCKS
        return [sample for graph, encoding in chosen for sample in directory_samples(graph, encoding)]
    if name == BLOCK:
        return [sample for block in fuzz_blocks.blocks() for sample in block_samples(*block)]
    found = []
    for format in FORMATS:
        if format.name != name or format.write is None:
            continue
        suffixes = [format.suffixes[0], *(format.suffixes[0] + second for second in COMPRESSED_SUFFIXES)]
        for graph in graphs():
            for suffix in suffixes if format.compresses else suffixes[:1]:
                with tempfile.TemporaryDirectory() as folder:
                    entry = f"g{suffix}"
                    try:
                        gp.write(graph, Path(folder, entry), format=name)
                    except GraphError:
                        continue  # the format cannot hold it
                    sample = Sample(entry, files_in(Path(folder)), write_parts)
                    found += [sample] * (1 if suffix in suffixes[1:] else PLAIN_SHARE)
                if name == "npz":
                    found += [archive_sample(sample)] * PLAIN_SHARE
    if not found:
        raise SystemExit(f"no sample of {name}")
    return found


def archive_sample(sample: Sample) -> Sample:
    """A zip archive whose members are mutated and then get right checksums."""

    def pack(parts: Parts, folder: Path) -> None:
        with zipfile.ZipFile(folder / sample.entry, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in parts.items():
                archive.writestr(name, data)

    with zipfile.ZipFile(io.BytesIO(sample.parts[sample.entry])) as archive:
        return Sample(sample.entry, {name: archive.read(name) for name in archive.namelist()}, pack)


def block_samples(entry: str, parts: Parts) -> list[Sample]:
    """A packed block as it is, and one whose parts fit each other again after they are mutated."""

    def pack(parts: Parts, folder: Path) -> None:
        (folder / entry).write_bytes(fuzz_blocks.fitting(entry, parts))

    whole = {entry: fuzz_blocks.fitting(entry, parts)}
    return [Sample(entry, whole, write_parts), *[Sample(entry, parts, pack)] * 2]


def directory_samples(graph: Graph, encoding: str) -> list[Sample]:
    """A graph directory as it is, and one whose manifest and arrays get right checksums after they are mutated."""
    block_bytes = 512 if encoding == "raw" else UNIT
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g")
        store.save(graph, path, encoding=encoding, block_bytes=block_bytes)
        plain = Sample("g", files_in(Path(folder)), write_parts)
        said = store.info(path)
        lengths = {name: np.fromfile(path / array.index, blocks.INDEX_DTYPE)["length"] for name, array in
                   said.arrays.items()}  # fmt: skip
    document = json.loads(plain.parts[f"g/{manifest.NAME}"])
    del document["checksum"]
    arrays = {name: plain.parts[f"g/{array.data}"] for name, array in said.arrays.items()}

    def pack(parts: Parts, folder: Path) -> None:
        path = folder / "g"
        path.mkdir()
        destination = write.Destination(path, (path,), write.HERE, said.graph_id)
        written = dataclasses.replace(said, arrays={})
        progress = Progress("", 0, gp.events.ignore)
        for name in arrays:
            old, dtype = said.arrays[name], said.arrays[name].dtype
            if old.encoding == blocks.PACKED_1:
                whole, elements = np.frombuffer(parts[name], np.uint8), np.empty(old.length, dtype)
                stored = np.split(whole, np.cumsum(lengths[name])[:-1])
            else:
                elements = np.frombuffer(parts[name][: len(parts[name]) // dtype.itemsize * dtype.itemsize], dtype)
                stored = raw_blocks(elements, block_bytes)
            write.write_blocks(destination, written, dataclasses.replace(old, length=len(elements)), stored, progress)
        text = parts[manifest.NAME]
        try:
            claimed = json.loads(text)
            for name, array in written.arrays.items():  # lengths are lies only where the text was changed
                if claimed["arrays"][name] == document["arrays"][name]:
                    claimed["arrays"][name] = manifest.array_document(array)
            text = manifest.seal(claimed)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        (path / manifest.NAME).write_bytes(text)

    parts = {manifest.NAME: json.dumps(document).encode(), **arrays}
    return [plain, Sample("g", parts, pack)]


def of_several_blocks() -> Graph:
    """A graph whose packed edges are three blocks an array, and its offsets two; lists go on from block to block."""
    sources, targets = np.random.default_rng(3).integers(0, 1500, (2, 4500))
    targets[:300] = targets[4200:] = 700
    return gp.from_edges(sources, targets, np.arange(4500, dtype=np.int32), vertices=np.arange(1500))


def large_directory() -> Sample:
    """A graph directory of 64 KiB: weights, names, several blocks an array."""
    sources, targets = np.random.default_rng(2).integers(0, 700, (2, 3400))
    names = np.array([f"vertex{number:04}" for number in range(700)])
    graph = gp.from_edges(names[sources], names[targets], np.arange(3400, dtype=np.float32))
    with tempfile.TemporaryDirectory() as folder:
        store.save(graph, Path(folder, "g"), block_bytes=4096)
        return Sample("g", files_in(Path(folder)), write_parts)


# Inputs


def change_byte(parts: Parts, number: int) -> Parts:
    """`parts` with another byte at place `number`, counted through all of them."""
    for name, data in parts.items():
        if number < len(data):
            changed = bytes([data[number] ^ 1 << number % 8])
            return parts | {name: data[:number] + changed + data[number + 1 :]}
        number -= len(data)
    raise IndexError(number)


def make_input(name: str, samples: list[Sample], seed: int, number: int, folder: Path) -> Path:
    """Write input `number` into the empty `folder`; the path to read."""
    if name == EVERY_BYTE:
        samples[0].pack(change_byte(samples[0].parts, number), folder)
        return folder / samples[0].entry
    rng = random.Random(f"{seed} {number}")
    sample = rng.choice(samples)
    parts = dict(sample.parts)
    donors = list(rng.choice(samples).parts.values())
    for name in rng.sample(sorted(parts), rng.choice((1, 1, min(2, len(parts))))):
        parts[name] = mutated(parts[name], donors, rng)
    sample.pack(parts, folder)
    return folder / sample.entry


# Reading


def attempt(path: Path, format: str) -> tuple[str, str, int]:
    """``"graph"``, ``"placed"`` or ``"unplaced"`` (an error with or without line or offset) or ``"crash"``; a note; the
    bytes of the arrays that the file may take memory for."""
    declared = sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")))
    try:
        if format == BLOCK:
            problem = fuzz_blocks.attempt(path)
            return ("graph", "", declared) if problem is None else ("unplaced", problem, declared)
        size = 0
        for options in ({"encoding": "packed"}, {"encoding": "raw"}) if format in (DIRECTORY, EVERY_BYTE) else ({},):
            graph = gp.open(path, threads=1, **options) if options else gp.read(path, format=format, threads=1)
            check(graph)
            size += graph.nbytes
        for problem in store.verify(path, threads=1) if format in (DIRECTORY, EVERY_BYTE) else ():
            raise problem  # in what is not read where edges are in memory
        return "graph", "", max(declared, size)
    except FormatError as error:
        if not error.path.startswith(str(path.parent)):
            return "crash", f"does not name the file: {error}", declared
        return ("unplaced" if error.line is None and error.offset is None else "placed"), str(error), declared
    except GaraphError as error:
        return ("unplaced" if str(path) in str(error) else "crash"), f"names no file: {error}", declared
    except (Exception, Warning):
        return "crash", traceback.format_exc(), declared


def check(graph: Graph) -> None:
    """What every program takes on trust."""
    for edges in (graph.in_edges, graph.out_edges):
        assert edges.offsets[0] == 0, "offsets do not start with 0"
        assert edges.offsets[-1] == len(edges.neighbours) == graph.m, "offsets do not end with the number of edges"
        assert (np.diff(edges.offsets) >= 0).all(), "offsets fall"
        assert not graph.m or int(edges.neighbours.max()) < graph.n, "a neighbour is out of range"
        assert edges.values is None or len(edges.values) == graph.m, "not a value for each edge"
    assert len(graph.ids) == graph.n, "not an id for each vertex"


def peak_memory() -> int:
    """Bytes of the highest resident set since the last `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    raise OSError("no VmHWM in /proc/self/status")


def reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def work(name: str, seed: int, first: int, last: int, reports: Connection) -> None:
    """Read inputs [first, last) and report on each; the process to be limited."""
    faulthandler.enable()
    warnings.simplefilter("error")
    samples = samples_of(name)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        folder = Path(scratch, "input")
        for sample in samples:  # so that what is imported and compiled once counts for nobody
            folder.mkdir()
            sample.pack(sample.parts, folder)
            outcome, note, _ = attempt(folder / sample.entry, name)
            if outcome != "graph":
                raise SystemExit(f"{name}: a valid sample is not read: {note}")
            shutil.rmtree(folder)
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESSES, mapped + ADDRESSES))
        reports.send((first - 1, "ready", "", 0.0))
        for number in range(first, last):
            folder.mkdir()
            path = make_input(name, samples, seed, number, folder)
            before = reset_peak()
            outcome, note, declared = attempt(path, name)
            ratio = (peak_memory() - before) / (2 * declared + ALLOWANCE)
            if name == EVERY_BYTE and outcome == "graph":
                outcome, note = "crash", "a changed byte was not seen"
            if ratio > 1:
                outcome, note = "crash", f"{ratio:.1f} times the memory it may take, then: {outcome} {note}"
            reports.send((number, outcome, note, ratio))
            shutil.rmtree(folder)


@dataclass
class Summary:
    """What became of the inputs of one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    worst_ratio: float = 0.0
    bad: list[str] = field(default_factory=list)


def fuzz(name: str, options: Any) -> Summary:
    """Read all inputs of one format, with a new worker whenever one dies or hangs."""
    summary, following, last = Summary(), options.first, options.first + options.inputs
    if name == EVERY_BYTE:
        following, last = 0, sum(map(len, large_directory().parts.values()))
    context = multiprocessing.get_context("spawn")
    while following < last:
        reports, far_end = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(name, options.seed, following, last, far_end), daemon=True)
        worker.start()
        far_end.close()
        patience, ready = 10 * options.timeout, False  # imports and samples come first
        try:
            while following < last:
                if not reports.poll(patience):
                    worker.kill()
                    summary.outcomes["hang"] += 1
                    summary.bad.append(f"{name}, input {following}: nothing for {patience:g} s")
                    following += 1
                    break
                number, outcome, note, ratio = reports.recv()
                patience = options.timeout
                if outcome == "ready":
                    ready = True
                    continue
                summary.outcomes[outcome] += 1
                summary.worst_ratio = max(summary.worst_ratio, ratio)
                if outcome == "crash":
                    summary.bad.append(f"{name}, input {number}: {note}")
                if options.verbose:
                    print(f"{name}, input {number}: {outcome} {note}")
                following = number + 1
        except EOFError:
            worker.join()
            if not ready:
                raise SystemExit(f"{name}: the worker failed over its valid samples") from None
            summary.outcomes["crash"] += 1
            summary.bad.append(f"{name}, input {following}: the process died ({worker.exitcode})")
            following += 1
        worker.join()
    return summary


HEAD = (
    "| format | inputs | graphs | typed errors | of them with line or byte | crashes | hangs | worst peak memory |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|\n"
)


def row(name: str, summary: Summary) -> str:
    count = summary.outcomes
    errors = count["placed"] + count["unplaced"]
    cells = [name, count.total(), count["graph"], errors, count["placed"], count["crash"], count["hang"]]
    return (
        "| "
        + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
        + (f" | {summary.worst_ratio:.2f} |\n")
    )


def main() -> int:
    names = [*(format.name for format in FORMATS), DIRECTORY, EVERY_BYTE, BLOCK]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", help=f"some of {', '.join(names)}; all by default")
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs a format (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds until an input hangs (default: %(default)s)")
    parser.add_argument("--save", type=Path, help="file to write the table to")
    parser.add_argument("--verbose", action="store_true", help="print what became of each input")
    options = parser.parse_args()
    table, bad, start = HEAD, [], time.perf_counter()
    print(HEAD, end="")
    for name in options.formats or names:
        summary = fuzz(name, options)
        table += row(name, summary)
        bad += summary.bad
        print(row(name, summary), end="", flush=True)
    minutes = (time.perf_counter() - start) / 60
    print(f"{minutes:.1f} minutes")
    for problem in bad[:50]:
        print(problem, file=sys.stderr)
    if options.save:
        options.save.parent.mkdir(exist_ok=True)
        command = f"python scripts/fuzz.py --inputs {options.inputs} --seed {options.seed}"
        options.save.write_text(f"{INTRODUCTION.format(command, time.strftime('%Y-%m-%d'), minutes)}\n{table}")
    return 1 if bad else 0


INTRODUCTION = """# Fuzzing the readers

    {}

{}, {:.0f} minutes with one process. Valid files of every format, and graph directories in both encodings, were
mutated (bit flips, bytes set, truncation, splices, deletions, huge counts, noise; some with their checksums corrected)
and read. Every input must give a well-formed graph or a typed error that names the file.

"worst peak memory" is the memory that reading took, divided by what it may take: twice the arrays and 64 MiB. Above 1
it counts as a crash.

Packed blocks went to the decoder without checksums. Its compiled kernels worked on memory between two pages without
access, once directly after the first and once directly before the second, so a read or write outside is fatal. What
they decoded is compared with the slow decoder.
"""


if __name__ == "__main__":
    sys.exit(main())
