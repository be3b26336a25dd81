"""Where the CUDA sources of ``kernels/`` are, however the package was installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .errors import GaraphError


def folder() -> Path:
    """The folder of CUDA sources: installed as ``garaph_py.kernels``, or beside the package in a plain checkout.

    Raises
    ------
    GaraphError
        If the installation lacks it.
    """
    spec = importlib.util.find_spec("garaph_py.kernels")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    checkout = Path(__file__).parent.parent / "kernels"
    if (checkout / "__init__.py").is_file():
        return checkout
    raise GaraphError(f"the CUDA sources are missing: no garaph_py.kernels and no {checkout}; reinstall garaph_py")
