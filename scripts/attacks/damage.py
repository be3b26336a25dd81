"""Every damage to a small graph directory, raw and packed, and to checkpoints: is it found, or is the answer the same?

Each byte is changed, each file is cut at every length, and files are swapped: within a graph, with those of another
graph, and with those of another generation of the same graph. `ROUNDS` rounds with successive seeds change one bit of
each byte and make every other damage once; eight times as many change all bits.
"""

from __future__ import annotations

import itertools
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from attacks import Outcome
from attacks.samples import Parts, files_in, write_parts
from garaph_py import apps
from garaph_py.errors import GaraphError
from garaph_py.graph import Graph
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from garaph_py.storage import manifest
from garaph_py.storage.restripe import restripe

ROUNDS = 100
"""Number of rounds that make every damage once."""
BLOCK_BYTES = {"raw": 512, "packed": 8192}
"""The smallest blocks that an encoding allows."""
ENOUGH = 64 << 20
"""Memory in bytes for a run over edges on disk."""
STOPPED_AFTER = 5
"""Number of iterations of the runs whose checkpoints are damaged."""


@dataclass(frozen=True)
class Specimen:
    """Files to damage.

    Attributes
    ----------
    name : str
    parts : dict of str to bytes
        The files.
    ways : tuple of callable
        ``way(folder)`` returns an answer from the files in a folder.
    swapped : list of (str, dict of str to bytes)
        What is swapped, and the files then.
    """

    name: str
    parts: Parts
    ways: tuple[Callable[[Path], Any], ...]
    swapped: list[tuple[str, Parts]]


def attack(seed: int, folder: Path) -> Outcome:
    logging.disable(logging.WARNING)  # of checkpoints that are passed over
    try:
        outcome = Outcome()
        for specimen in specimens(folder):
            harm(specimen, seed, folder / "damaged", outcome)
        return outcome
    finally:
        logging.disable(logging.NOTSET)


def harm(specimen: Specimen, seed: int, folder: Path, outcome: Outcome) -> None:
    """Make one in `ROUNDS` of the damages to a specimen."""
    right = answers(specimen, specimen.parts, folder)
    if any(isinstance(answer, Exception) for answer in right):
        raise AssertionError(f"{specimen.name}, whole: {right}")
    for what, parts in itertools.islice(damages(specimen, seed // ROUNDS), seed % ROUNDS, None, ROUNDS):
        found = False
        for way, answer, wanted in zip(specimen.ways, answers(specimen, parts, folder), right, strict=True):
            if isinstance(answer, GaraphError):
                found = True
            elif answer != wanted:
                said = repr(answer) if isinstance(answer, Exception) else "another answer"
                outcome.problems.append(f"{specimen.name}, {what}, {way.__name__}: {said}")
        outcome.counts[f"damages to a {specimen.name}"] += 1
        outcome.counts["found" if found else "without effect on the answer"] += 1


def answers(specimen: Specimen, parts: Parts, folder: Path) -> list[Any]:
    """The answer or the error of each way."""
    found = []
    for way in specimen.ways:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        write_parts(parts, folder)
        try:
            found.append(way(folder))
        except Exception as error:
            found.append(error)
    return found


def damages(specimen: Specimen, shift: int) -> Iterator[tuple[str, Parts]]:
    """All damages; `shift` chooses the bit of each byte that is changed."""
    for name, data in specimen.parts.items():
        for place in range(len(data)):
            byte = bytes([data[place] ^ 1 << (place + shift) % 8])
            yield f"{name}, byte {place} changed", specimen.parts | {name: data[:place] + byte + data[place + 1 :]}
            yield f"{name} cut at byte {place}", specimen.parts | {name: data[:place]}
    yield from specimen.swapped


def specimens(folder: Path) -> Iterator[Specimen]:
    graphs = small_graph(1), small_graph(2)
    for encoding in BLOCK_BYTES:
        yield directory(encoding, *graphs, folder)
    first, second = (left_behind(graph, folder / f"run {number}") for number, graph in enumerate(graphs))
    newest = max(first)  # the odd one, of the fifth iteration

    def resumed(folder: Path) -> bytes:
        return ranks(graphs[0], folder, resume=True)

    yield Specimen("pair of checkpoints", first, (resumed,), list(swaps(first, second)))
    alone = {newest: first[newest]}
    yield Specimen("checkpoint", alone, (resumed,), [("the older", {newest: first[min(first)]}), ("another", second)])


# Graph directories


def small_graph(seed: int) -> Graph:
    """A directed graph with names and edge values; of all seeds the arrays have the same types and lengths."""
    sources, targets = np.random.default_rng(seed).integers(0, 40, (2, 90))
    sources[:40] = np.arange(40)
    names = np.array([f"vertex {number:02}" for number in range(40)])
    return gp.from_edges(names[sources], names[targets], np.random.default_rng(seed).random(90, np.float32))


def directory(encoding: str, graph: Graph, other: Graph, folder: Path) -> Specimen:
    first, second = folder / f"{encoding}", folder / f"{encoding} other"
    for path, one in ((first, graph), (second, other)):
        store.save(one, path, encoding=encoding, block_bytes=BLOCK_BYTES[encoding])
    old, parts = store.info(first), files_in(first)
    new = restripe(first, ["."])
    swapped = [*swaps(parts, files_in(second)), *generations(old, parts, new, files_in(first))]
    return Specimen(f"{encoding} directory", parts, (from_raw, from_packed, from_disk), swapped)


def from_raw(folder: Path) -> Any:
    return contents(gp.open(folder, threads=1, encoding="raw"))


def from_packed(folder: Path) -> Any:
    return contents(gp.open(folder, threads=1, encoding="packed"))


def contents(graph: Graph) -> Any:
    """All that a graph holds."""
    with ThreadPool(1) as pool:
        both = graph._arrays.in_edges, graph._arrays.valued_out_edges(pool)
    arrays = [array for edges in both for array in (edges.offsets, edges.neighbours, edges.values)]
    return [np.asarray(array).tobytes() for array in arrays], list(graph.ids.array())


def from_disk(folder: Path) -> bytes:
    """Distances, by a run that leaves the edges on disk."""
    graph = store.read_graph(folder, "auto", ENOUGH, 1, gp.events.ignore, on_disk=True)
    return gp.run(apps.SSSP(source="vertex 00"), graph, threads=1).values.tobytes()


def swaps(parts: Parts, others: Parts) -> Iterator[tuple[str, Parts]]:
    """Files swapped with one another, and with the files of the same name of something else."""
    for one, two in itertools.combinations(parts, 2):
        yield f"{one} and {two} swapped", parts | {one: parts[two], two: parts[one]}
    for name in parts:
        yield f"{name} of another", parts | {name: others[name]}
    for stem in sorted({name.rpartition(".")[0] for name in parts}):
        both = {name: data for name, data in others.items() if name.rpartition(".")[0] == stem}
        yield f"all of {stem} of another", parts | both


def generations(old: manifest.Manifest, before: Parts, new: manifest.Manifest, after: Parts) -> Iterator[Any]:
    """The files of two generations of one graph swapped, in both directions."""
    for to, parts, of, others in ((old, before, new, after), (new, after, old, before)):
        for kinds in (("data",), ("index",), ("data", "index")):
            moved = {
                name: {getattr(array, kind): others[getattr(of.arrays[name], kind)] for kind in kinds}
                for name, array in to.arrays.items()
            }
            for name, files in moved.items():
                yield f"{' and '.join(kinds)} of {name} of generation {of.generation}", parts | files
            every = {file: data for files in moved.values() for file, data in files.items()}
            yield f"every {' and '.join(kinds)} of generation {of.generation}", parts | every
        yield f"manifest of generation {of.generation}", parts | {manifest.NAME: others[manifest.NAME]}


# Checkpoints


class Stopped(Exception):
    """A run was stopped on purpose."""


def left_behind(graph: Graph, folder: Path) -> Parts:
    """The checkpoints of a run that was stopped."""

    def stop(event: object) -> None:
        if isinstance(event, gp.events.Iteration) and event.number == STOPPED_AFTER:
            raise Stopped

    try:
        ranks(graph, folder, checkpoint_every=1, on_event=stop)
    except Stopped:
        return files_in(folder)
    raise AssertionError("the run was not stopped")


def ranks(graph: Graph, folder: Path, checkpoint_every: int | str = "1h", **how: Any) -> bytes:
    options = gp.Options(sync=True, deterministic=True, checkpoint_every=checkpoint_every)
    result = gp.run(apps.PageRank(), graph, threads=1, checkpoint=folder, options=options, **how)
    with result:
        return result.values.tobytes()
