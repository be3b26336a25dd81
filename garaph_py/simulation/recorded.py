"""Runs that were measured: from the folder of an experiment, or from a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import registry as programs
from ..codec.arrays import PACKED
from ..errors import FormatError, ParameterError
from ..executor.modes import BOTH, CPU
from ..program import VertexId
from ..program.bind import hints
from ..system.sizes import parse_bytes
from .options import HYBRID, RunOptions
from .workload import Traits, Workload, activities_of, bound_alone, device_bytes, even_offsets

Array = npt.NDArray[Any]
Record = Mapping[str, Any]

COLUMNS = ("combination", "repeat", "program", "parameters", "graph", "device", "engine", "vertices", "graph_edges")
SYMMETRIC, RAW_GATHERS = "symmetric", ("segmented", "replicated")


@dataclass(frozen=True)
class RecordedRun:
    """A run that was measured.

    Attributes
    ----------
    graph : str
    workload : Workload
        Its sizes, and who was active in its iterations.
    options : RunOptions
    threads : int
    room : int or None
        Bytes of the GPU's memory that were left for edges; None where it was not bounded.
    rows : tuple of dict
        Its iterations: ``mode``, ``device``, ``edges``, ``active``, ``seconds``, ``to_device``, ``from_device``,
        ``pages``, ``pages_skipped``.
    copying, gathering : float or None
        Bytes a second of single copies to the GPU, where a trace or an experiment's machine tells, and the GPU's
        seconds an edge, where a trace does.
    """

    graph: str
    workload: Workload
    options: RunOptions
    threads: int
    room: int | None
    rows: tuple[Record, ...]
    copying: float | None = None
    gathering: float | None = None

    @property
    def seconds(self) -> float:
        """Of all iterations."""
        return float(sum(row["seconds"] for row in self.rows))


def read_results(folder: str | os.PathLike[str]) -> list[RecordedRun]:
    """The runs in `folder`, as ``garaph experiment`` writes them: results.parquet and iterations.parquet; and, if it is
    there, machine.json.

    Runs that failed or had no iteration are left out, and those whose edges were packed: how many bytes these took is
    not told.

    Raises
    ------
    FormatError
        If the tables are not there, or not of runs.
    ParameterError
        If nothing is left.
    """
    results, iterations = (table_of(Path(folder) / f"{name}.parquet") for name in ("results", "iterations"))
    missing = [name for name in COLUMNS if results and name not in results[0]]
    if missing:
        raise FormatError(Path(folder) / "results.parquet", f"has no {', '.join(missing)}; name an experiment of runs")
    of: dict[tuple[int, int], list[Record]] = {}
    for row in iterations:
        own = row | {"device": row["device_used"], "mode": row["mode_used"], "number": row["iteration"]}
        of.setdefault((row["combination"], row["repeat"]), []).append(own)
    found, link = [], copying_of(Path(folder) / "machine.json")
    for result in results:
        rows = of.get((result["combination"], result["repeat"]))
        if rows and result["error"] is None and is_raw(result):
            found.append(recorded_of(result, sorted(rows, key=lambda row: row["number"]), link))
    if not found:
        raise ParameterError(f"{folder}: has no run with raw edges that came to its end; measure some")
    return found


def fastest(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """Of runs of the same the fastest: what disturbs a run only slows it."""
    best: dict[Any, RecordedRun] = {}
    for run in runs:
        key = run.graph, run.workload.traits, run.options, run.threads, run.room
        if key not in best or run.seconds < best[key].seconds:
            best[key] = run
    return list(best.values())


def table_of(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise FormatError(path, "no such file; name the folder that `garaph experiment` has written") from None
    except pa.ArrowInvalid as error:
        raise FormatError(path, f"is not Parquet: {error}; measure anew") from None


def copying_of(path: Path) -> float | None:
    """Bytes a second that come to the GPU of the machine that an experiment describes, if there is one."""
    try:
        return float(json.loads(path.read_bytes())["gpus"][0]["to_device"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, IndexError):
        return None  # it has no GPU, or nobody knows


def is_raw(result: Record) -> bool:
    """Whether edges were raw everywhere: for the link they are packed where that pays, unless a raw gather was set."""
    return result["encoding_used"] != PACKED and (result["device_used"] == CPU or result["gather"] in RAW_GATHERS)


def recorded_of(result: Record, rows: list[Record], copying: float | None) -> RecordedRun:
    kind = programs.find(result["program"])
    given = dict(part.split("=", 1) for part in (result["parameters"] or "").split(", ") if part)
    vertices = {name: "0" for name, hint in hints(kind).items() if hint == VertexId}
    bound = bound_alone(programs.build(kind, given | {name: vertices[name] for name in vertices}), weighted=True)
    free = result["engine"] == "auto" and result["iterations"] is None and bound.is_order_independent
    synchronous = not (free and not result["deterministic"]) if result["sync"] is None else result["sync"]
    n, m = result["vertices"], result["graph_edges"]
    traits = Traits.of(bound, synchronous)
    width = device_bytes(bound, n, m, SYMMETRIC not in result["graph"], synchronous)
    memory = result["gpu_memory"]
    workload = Workload(
        traits, n, m, even_offsets(n, m), tuple(activities_of(rows, m)), 4.0 + traits.edge_value_bytes, width
    )
    room = None if memory is None else parse_bytes(memory, "gpu_memory") - workload.fixed
    device = device_of(result["device"], rows)
    options = RunOptions(device=device, engine=result["engine"], mode=result["mode"])
    return RecordedRun(result["graph"], workload, options, result["threads_used"], room, tuple(rows), copying)


def read_trace(path: str | os.PathLike[str]) -> RecordedRun:
    """The run in a trace, as ``garaph run --trace`` writes it.

    Raises
    ------
    FormatError
        If it is not one.
    """
    try:
        document = json.loads(Path(path).read_bytes())
        facts, events = document["otherData"], document["traceEvents"]
        return traced(facts, [event for event in events if event["ph"] in ("X", "M")])
    except FileNotFoundError:
        raise FormatError(path, "no such file; write one by `garaph run --trace`") from None
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise FormatError(path, f"is not a trace of garaph ({error!r}); write one by `garaph run --trace`") from None


def traced(facts: Record, events: list[Record]) -> RecordedRun:
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    rows = [row_of(span) for span in spans if tracks[span["tid"]] == "iterations"]
    n, m = facts["vertices"], facts["edges"]
    priority = facts["relaxes"] and facts["priority"] and not facts["synchronous"]
    traits = Traits(
        facts["program"], facts["value_bytes"], facts["edge_value_bytes"], facts["everybody"], facts["relaxes"],
        facts["synchronous"], priority,
    )  # fmt: skip
    copies = [span for span in spans if tracks[span["tid"]] == "copy to device"]
    kernels = [span for span in spans if tracks[span["tid"]].startswith("stream")]
    copied = sum(span["args"]["edges"] for span in copies)
    width = sum(row["to_device"] for row in rows) / copied if copied else 4.0 + traits.edge_value_bytes
    # values twice or once, offsets of both directions or one, a sum, bits: what every program has
    vertex_bytes = traits.value_bytes * (2 + facts["synchronous"]) + 8.0 * (1 + facts["directed"])
    workload = Workload(
        traits, n, m, even_offsets(n, m), tuple(activities_of(rows, m)), width, vertex_bytes,
        pushes=facts["pushes"], kernels=costs_of(kernels, m),
    )  # fmt: skip
    device = device_of(facts["device"], rows)
    memory = facts["gpu_memory"]
    return RecordedRun(
        facts["program"], workload, RunOptions(device=device, engine=facts["engine"], mode=facts["mode"]),
        facts["threads"], None if memory is None else memory - workload.fixed, tuple(rows),
        copied * width / seconds_of(copies) if copied else None,
        seconds_of(kernels) / sum(span["args"]["edges"] for span in kernels) if kernels else None,
    )  # fmt: skip


def costs_of(kernels: list[Record], edges: int) -> tuple[Array, Array] | None:
    """`Workload.kernels` of the pages that `kernels` gathered; None where not all pages were among them."""
    pages: dict[int, list[Record]] = {}
    for span in sorted(kernels, key=lambda span: -span["args"]["edges"]):
        own = pages.setdefault(span["args"]["page"], [span])
        if own[0] is not span and own[0]["args"]["edges"] == span["args"]["edges"]:  # not a part of the page
            own.append(span)
    ordered = [pages[number] for number in sorted(pages)]
    sizes = np.array([spans[0]["args"]["edges"] for spans in ordered])
    taken = np.array([np.mean([span["dur"] for span in spans]) for spans in ordered])
    if not edges or sizes.sum() != edges or not taken.sum():
        return None
    before = (np.concatenate([[0.0], np.cumsum(column)]) for column in (sizes, taken * (edges / taken.sum())))
    return next(before), next(before)


def device_of(asked: str, rows: list[Record]) -> str:
    """Who was to work: as asked, or if that was left to the runtime, by who did in each iteration."""
    devices = {row["device"] for row in rows}
    if asked != "auto" or not devices:
        return CPU if asked == "auto" else asked
    return HYBRID if len(devices) > 1 or BOTH in devices else devices.pop()


def seconds_of(spans: list[Record]) -> float:
    """Seconds in which at least one of `spans` was under way."""
    total, end = 0.0, float("-inf")
    for begin, stop in sorted((span["ts"], span["ts"] + span["dur"]) for span in spans):
        total += max(stop - max(begin, end), 0.0)
        end = max(end, stop)
    return total * 1e-6


def row_of(span: Record) -> Record:
    number, mode = span["name"].split(": ")
    details = span["args"]
    return {
        "number": int(number), "mode": mode, "f": details["f"], "active": details["active vertices"],
        "edges": details["edges"], "seconds": span["dur"] * 1e-6, "device": details["device"],
        "to_device": details["to device"], "from_device": details["from device"], "pages": details["pages"],
        "pages_skipped": details["skipped"],
    }  # fmt: skip
