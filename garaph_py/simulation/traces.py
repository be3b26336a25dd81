"""A run that was measured, read from its trace."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dispatch.engines import class_of, engine_name, is_in_file
from ..errors import FormatError, ParameterError
from ..executor.gpu.work import PULLING
from ..executor.partitions import PartitionCounts
from ..io.formats.format import malformed
from ..runtime.options import ANY, RunOptions
from ..system.files import no_such_file
from .recorded import (
    Record,
    RecordedRun,
    amount,
    check_row,
    device_of,
    flag,
    in_supersteps,
    may_push_deltas,
    shape_in,
    text,
    whole,
)
from .workload import Traits, Workload, activities_of, even_offsets

Array = npt.NDArray[Any]

WRITE_ONE = "write one by `garaph run --trace`"
"""How to get a trace."""
FLAGS = ("everybody", "relaxes", "synchronous", "priority", "directed", "pushes")
"""Facts of a trace that are true or false."""
LATER_FLAGS = ("done", "ends_late", "deltas")
"""Those that earlier versions did not write."""
TRACED = "-"
"""The path of a trace in the options of a run that wrote one: each superstep was recorded, so none was in a chain."""


def read_trace(path: str | os.PathLike[str], engine: str | None = None) -> RecordedRun:
    """Read the run in a trace that ``garaph run --trace`` has written.

    Parameters
    ----------
    path : path
    engine : str, optional
        The engine that the user names. A policy of a user's own that the trace names is not looked for in a file: this
        engine takes its place if the two classes have the same name, and otherwise ``"auto"`` does.

    Raises
    ------
    FormatError
        If the file is missing or is not a trace.
    ParameterError
        If the run was under such a policy, and the user names no engine.
    """
    path = Path(path)
    if not os.path.exists(path) or os.path.isdir(path):
        raise FormatError(path, no_such_file(path, WRITE_ONE, ".json"))
    with malformed(path, f"is not a trace of garaph; {WRITE_ONE}"):
        document = json.loads(path.read_bytes())
        facts, events = document["otherData"], document["traceEvents"]
        own = engine_in(text(facts["engine"]), engine)
        run = traced(facts, [event for event in events if event["ph"] in ("X", "M")], own or ANY)
    if own is None and engine is None:
        raise ParameterError(
            f"{path}: its run was under the policy {facts['engine']!r}, which is code that a trace alone cannot have "
            "run; if you trust its file, name it: --engine FILE.py:CLASS"
        )
    if "workers" in facts:
        raise FormatError(path, "its run was on a cluster; record one on a single machine")
    if not in_supersteps(run.rows):
        raise FormatError(path, "its run found components in one iteration; record one with --async or --sync")
    if may_push_deltas(run):
        raise FormatError(
            path,
            "vertices of its run may push deltas, which a simulation has no costs of; record one with --engine garaph",
        )
    return run


def engine_in(recorded: str, named: str | None) -> str | None:
    """The engine to take for that of a run: the `recorded` one, if no file has to be run for it, or else the one that
    the user has `named`, if its class has the same name; None if neither is."""
    if not is_in_file(recorded):
        with contextlib.suppress(ParameterError):
            return engine_name(recorded)
    return named if named is not None and class_of(named) == class_of(recorded) else None


def traced(facts: Record, events: list[Record], engine: str) -> RecordedRun:
    """A run under `engine` from the facts and the events of its trace."""
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    rows = [row_of(span) for span in spans if tracks[span["tid"]] == "iterations"]
    name, asked = text(facts["program"]), facts.get("options", {})
    n, m = (whole(facts[count], 0) for count in ("vertices", "edges"))
    everybody, relaxes, synchronous, priority, directed, pushes = (flag(facts[one]) for one in FLAGS)
    nearby = None if facts.get("graph_nearby") is None else flag(facts["graph_nearby"])
    done, ends_late, deltas = (flag(facts.get(one, False)) for one in LATER_FLAGS)
    traits = Traits(
        name, whole(facts["value_bytes"], 0), whole(facts["edge_value_bytes"], 0), everybody, relaxes, synchronous,
        relaxes and priority and not synchronous, done, ends_late, pushes_deltas=deltas,
    )  # fmt: skip
    copies = [span for span in spans if tracks[span["tid"]] == "copy to device"]
    kernels = [span for span in spans if tracks[span["tid"]].startswith("stream") and span["name"] == PULLING]
    copied = sum(span["args"]["edges"] for span in copies)
    width = sum(row["to_device"] for row in rows) / copied if copied else 4.0 + traits.edge_value_bytes
    # an estimate for any program: one or two arrays of values, one of sums, and the offsets of one or both directions
    vertex_bytes = traits.value_bytes * (2 + synchronous) + 8.0 * (1 + directed)
    workload = Workload(
        traits, n, m, even_offsets(n, m), tuple(activities_of(rows, m)), width, vertex_bytes,
        pushes=pushes, kernels=kernel_costs(kernels, m), known_shape=shape_in(facts, n, m),
        known_nearby=nearby, directed=directed,
        page_edges=int(asked["page_edges"]) if "page_edges" in asked else None,
    )  # fmt: skip
    device = device_of(facts["device"], rows)
    memory = None if facts["gpu_memory"] is None else whole(facts["gpu_memory"], 0)
    return RecordedRun(
        name, workload, RunOptions(device=device, engine=engine, mode=facts["mode"], trace=TRACED),
        whole(facts["threads"], 1), None if memory is None else memory - workload.fixed, tuple(rows),
        copied * width / seconds_of(copies) if copied else None,
        seconds_of(kernels) / sum(span["args"]["edges"] for span in kernels) if kernels else None,
    )  # fmt: skip


def kernel_costs(kernels: list[Record], edges: int) -> tuple[Array, Array] | None:
    """`Workload.kernels`, from the spans of all kernels; None if they do not cover all pages."""
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


def seconds_of(spans: list[Record]) -> float:
    """Total seconds covered by at least one of the spans."""
    total, end = 0.0, float("-inf")
    for begin, stop in sorted((span["ts"], span["ts"] + span["dur"]) for span in spans):
        total += max(stop - max(begin, end), 0.0)
        end = max(end, stop)
    return total * 1e-6


def counts_in(details: Record | None) -> PartitionCounts | None:
    """What an engine knew of each partition, in a trace."""
    if details is None:
        return None
    given: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value for name, value in details.items()
    }
    return PartitionCounts(**given)


def row_of(span: Record) -> Record:
    """An iteration from its span in a trace."""
    number, mode = span["name"].split(": ")
    details = span["args"]
    compiling = amount(details.get("compiling", 0.0))
    row = {
        "number": int(number), "mode": mode, "f": details["f"], "active": details["active vertices"],
        "edges": details["edges"], "seconds": max(amount(span["dur"]) * 1e-6 - compiling, 0.0),
        "device": details["device"],
        "to_device": details["to device"], "from_device": details["from device"], "pages": details["pages"],
        "pages_skipped": details["skipped"], "partitions": counts_in(details.get("partitions")),
    }  # fmt: skip
    check_row(row)
    return row
