"""The versions of this package, of Python, and of the packages that matter for a measurement."""

from __future__ import annotations

import importlib.metadata
import platform

from .. import __version__

PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow", "scipy", "numba-cuda", "cuda-core", "pycuda")


def versions() -> dict[str, str]:
    """The versions by name; those of packages that are not installed are left out."""
    found = {"garaph_py": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # perhaps an optional package for GPUs
    return found
