"""Checks of arguments that several public functions take: a path, and a listener."""

from __future__ import annotations

import os
from typing import Any

from ..errors import ParameterError


def check_path(path: Any, function: str) -> None:
    """Refuse what is no path, in a call of `function`."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"{function} takes a path, a string or a pathlib.Path, not {type(path).__name__}")


def check_listener(on_event: Any) -> None:
    """Refuse an `on_event` that cannot be called."""
    if not callable(on_event):
        raise ParameterError(f"on_event={on_event!r:.40}: give a function of one argument, an event")
