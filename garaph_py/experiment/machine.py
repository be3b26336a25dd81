"""The machine that an experiment ran on, and the versions of what matters there."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from .. import __version__, events
from ..cli.devices import look

PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow", "scipy", "numba-cuda", "cuda-core", "pycuda")


def describe(folder: Path, on_event: events.Listener) -> dict[str, Any]:
    """Processor, memory, the disk of `folder` and GPU with measured speeds; system, versions, and when that was."""
    versions = {"garaph_py": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # of a GPU, perhaps: no_gpu says what is missing
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return (
        {"when": when, "system": platform.platform()}
        | look([folder], None, on_event).document()
        | {"versions": versions}
    )
