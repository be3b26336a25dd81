"""What an experiment has found, for each of its settings: times, failures, and what to know of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from .kinds import Row
from .spec import MACHINE, Spec


def summary(spec: Spec, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """For each combination: the settings that vary, and its times, or its error if all its measurements failed.

    What counts a graph takes no time; its ``seconds`` are None.

    Combinations that differ in their random sources only are summarized together, those of each machine apart.
    """
    names = [*varied(spec), *([MACHINE] if len({row[MACHINE] for row in rows}) > 1 else [])]
    picked = {combination.number for combination in spec.combinations if combination.picks}
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):  # a stable sort: machines stay in their order
        alike.setdefault(tuple(row[name] for name in names), []).append(row)
    for key, own in alike.items():
        done = [row for row in own if row["error"] is None]
        took = [row["seconds"] for row in done if "seconds" in row]
        times = {"median": statistics.median(took), "least": min(took), "most": max(took)} if took else None
        yield {
            "settings": dict(zip(names, key, strict=True)),
            "sources": max(len({row["combination"] for row in done or own} & picked), 1),
            "seconds": times,
            "notes": list(dict.fromkeys(row["note"] for row in own if row.get("note"))),
            "error": None if done else own[0]["error"],
        }


def varied(spec: Spec) -> list[str]:
    """The settings in which combinations differ."""
    settings = [combination.settings for combination in spec.combinations]
    return [name for name in settings[0] if any(row[name] != settings[0][name] for row in settings)]


def failures(spec: Spec, rows: list[Row]) -> list[str]:
    """Each error of measurements once, behind the settings that all measurements with this error share.

    If it is several values of a setting that fail and no measurement with one of them succeeds, they stand there too.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["error"] is not None:
            found.setdefault(row["error"], []).append(row)
    lines = []
    for error, those in found.items():
        parts = []
        for name in varied(spec):
            failed = list(dict.fromkeys(row[name] for row in those))
            others = {row[name] for row in rows if row["error"] is None}
            if failed == [""]:  # a program without parameters
                continue
            if len(failed) == 1 or (others and others.isdisjoint(failed)):
                parts.append(f"{name}={', '.join(map(shown_value, failed))}")
        settings = " ".join(parts)
        lines.append(f"{settings}: {error}" if settings else error)
    return lines


def shown_value(value: Any) -> str:
    """A setting's value for people."""
    return "default" if value is None else str(value)
