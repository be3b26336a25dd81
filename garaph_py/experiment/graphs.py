"""`GraphName`: the name of a graph in a spec, which stands for a file or for a graph to generate."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import events
from ..codec.arrays import RAW
from ..errors import ParameterError
from ..graph import Graph
from ..graph.generate import rmat, uniform, weight_range, whole
from ..io.load import LoadOptions, load
from ..io.write import write
from ..storage import directory as store
from ..system.sizes import parse_bytes

GENERATORS: dict[str, Callable[..., Graph]] = {"rmat": rmat, "uniform": uniform}
SYMMETRIC, MEMORY = "symmetric", "memory"
BOUND = re.compile(rf"(.+):{MEMORY}=([^:=]+)")
WEIGHT_RANGE = (1, 255)
"""The lowest and the highest weight, if a name has only ``:weights``."""
RANGE = re.compile(r"weights(?:=(-?\d{1,10})\.\.(-?\d{1,10}))?", re.ASCII)
FORM = (
    "write a file, a directory, or rmat:SCALE:EDGE_FACTOR or uniform:..., with :symmetric and :weights or "
    ":weights=LOW..HIGH behind it, and last perhaps :memory=SIZE"
)


@dataclass(frozen=True)
class GraphName:
    """The name of a graph in a spec: a file, a graph directory, or a graph to generate.

    Attributes
    ----------
    text : str
        The name in the spec.
    path : Path or None
        The file or directory; None for a graph to generate.
    generator : str
        The name of its generator in `GENERATORS`.
    scale, edge_factor : int
        The graph has 2^scale vertices, and `edge_factor` edges per vertex.
    symmetric : bool
        The graph has every edge in both directions.
    weights : tuple of int or None
        Edges have random integer values from the first to the second; None if they have no values.
    memory : int or None
        Bytes of memory for a run over the graph, whose edges stay on disk if they take more; None if all are in memory.
    """

    text: str
    path: Path | None = None
    generator: str = ""
    scale: int = 0
    edge_factor: int = 0
    symmetric: bool = False
    weights: tuple[int, int] | None = None
    memory: int | None = None

    def load(self, on_event: events.Listener, folder: Path | None = None) -> Graph:
        """Load or generate the graph; if its memory is bounded, by opening a graph directory that is made in `folder`.

        Raises
        ------
        ParameterError
            If its memory is bounded, and there is no folder.
        """
        if self.memory is not None and folder is None:
            raise ParameterError(f"{self.text!r}: only experiments of runs bound the memory; leave :{MEMORY} out")
        if self.path is not None:
            graph = load(self.path, LoadOptions(symmetrize=self.symmetric), on_event=on_event)
        else:
            graph = self._generate(not self.symmetric, on_event)
        if self.memory is None or folder is None:
            return graph
        store.save(graph, folder / "graph", encoding=RAW, on_event=on_event)
        return store.open(folder / "graph", memory=self.memory, on_event=on_event)

    def file(self, folder: Path, on_event: events.Listener) -> Path:
        """A file with the graph's edges; for a generated graph, a text file in `folder` that has every edge once."""
        if self.path is not None:
            return self.path
        path = folder / "edges.tsv"
        write(self._generate(True, on_event), path, on_event=on_event)
        return path

    def _generate(self, directed: bool, on_event: events.Listener) -> Graph:
        make = GENERATORS[self.generator]
        return make(self.scale, self.edge_factor, directed=directed, weights=self.weights, on_event=on_event)


def named(text: str, folder: Path) -> GraphName:
    """The graph that `text` names; the paths of files are relative to `folder`.

    Raises
    ------
    ParameterError
        If there is no such file, or the name is invalid.
    """
    if found := BOUND.fullmatch(text):
        return replace(named(found[1], folder), text=text, memory=parse_bytes(found[2], f"{text!r}: {MEMORY}"))
    kind, *rest = text.split(":")
    if kind not in GENERATORS:
        symmetric = text.endswith(f":{SYMMETRIC}")
        path = folder / text.removesuffix(f":{SYMMETRIC}")
        if not os.path.exists(path):
            raise ParameterError(f"{text!r}: there is no {path}; {FORM}")
        return GraphName(text, path, symmetric=symmetric)
    numbers, flags = rest[:2], rest[2:]
    ranges = [found for flag in flags if (found := RANGE.fullmatch(flag))]
    if len(numbers) < 2 or not all(map(str.isdecimal, numbers)) or len(ranges) + flags.count(SYMMETRIC) < len(flags):
        raise ParameterError(f"{text!r}: {FORM}")
    scale, edge_factor = whole("scale", int(numbers[0]), 0, 31), whole("edge factor", int(numbers[1]), 0, 1 << 17)
    return GraphName(text, None, kind, scale, edge_factor, SYMMETRIC in flags, weights_of(text, ranges))


def weights_of(text: str, ranges: list[re.Match[str]]) -> tuple[int, int] | None:
    """The range of weights that the graph `text` asks for; None if it asks for none."""
    if len(ranges) > 1:
        raise ParameterError(f"{text!r}: has weights twice; leave one out")
    if not ranges:
        return None
    if ranges[0][1] is None:
        return WEIGHT_RANGE
    low, high = int(ranges[0][1]), int(ranges[0][2])
    try:
        weight_range((low, high))
    except ParameterError as error:
        raise ParameterError(f"{text!r}: {error}") from None
    return low, high
