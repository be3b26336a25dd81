"""Finding a vertex program by its name, and making one from parameters that are given as text.

The command line, experiments and simulations name programs so.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from ..errors import GaraphError, ParameterError, did_you_mean
from ..graph.ids import IdText
from ..program import PerVertex, VertexId, VertexProgram
from ..program.fields import hints
from ..program.methods import failed
from ..system.user_files import class_in_file


def find(name: str) -> type[VertexProgram]:
    """The program class called `name`.

    Parameters
    ----------
    name : str
        A program of `garaph_py.apps`, in upper or lower case, or ``file.py:ClassName`` for a user's own.

    Raises
    ------
    ParameterError
        If there is no such program or file.
    ProgramError
        If the file fails when it is run.
    """
    from .. import apps

    if ":" in name:
        file, _, kind = name.rpartition(":")
        return class_in_file(file, kind, VertexProgram, "vertex program")
    if name.endswith(".py"):
        raise ParameterError(f"{name} is a file; name the class in it too: {name}:ClassName")
    library = {app.lower(): app for app in apps.__all__}
    if name.lower() not in library:
        near = did_you_mean(name, apps.__all__, f"the library has {', '.join(sorted(apps.__all__))}")
        raise ParameterError(f"there is no program {name!r}; for your own write file.py:ClassName; {near}")
    return getattr(apps, library[name.lower()])  # type: ignore[no-any-return]


def option(name: str) -> str:
    """The advice for a command of ``garaph`` that lacks the program's parameter `name`."""
    return f"add --{name} ..." if name == "source" else f"add -p {name}=..."


def build(kind: type[VertexProgram], given: dict[str, str], advice: Callable[[str], str] = option) -> VertexProgram:
    """An instance of the program `kind`.

    Parameters
    ----------
    kind : type
        A program class.
    given : dict of str to str
        Its parameters by name, each written as text.
    advice : callable
        ``advice(name)`` ends the message about a missing parameter: how to give it. By default an option of the
        command line.

    Raises
    ------
    ParameterError
        If a parameter is unknown, missing, or not of its type.
    ProgramError
        If the program's check of its parameters fails.
    """
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    types = hints(kind)
    for name in given:
        if name not in fields:
            near = did_you_mean(name, fields, f"it has {', '.join(fields) or 'none'}")
            raise ParameterError(f"{kind.__name__} has no parameter {name!r}; {near}")
    for name, field in fields.items():
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in given:
            raise ParameterError(f"{kind.__name__} needs its parameter {name!r}; {advice(name)}")
    values = {name: convert(kind, name, types[name], text) for name, text in given.items()}
    try:
        return kind(**values)
    except GaraphError:
        raise
    except Exception as error:
        raise failed(kind, "__post_init__", error) from error


def convert(kind: type[VertexProgram], name: str, hint: Any, text: str) -> Any:
    """The value of the parameter `name`, whose annotation is `hint`, that `text` stands for."""
    if hint == VertexId:
        return IdText(text)
    if hint is str:
        return text
    try:
        if hint is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if hint in (int, float):
            return hint(text)
        if hint == PerVertex:
            given = json.loads(text)
            return {IdText(key): item for key, item in given.items()} if isinstance(given, dict) else given
    except (ValueError, KeyError):
        expected = "a number, or JSON like '{\"5\": 1.0}'" if hint == PerVertex else f"a value of type {hint.__name__}"
        advice = {bool: "; write true or false", int: "; write a whole number", float: "; write a number such as 0.85"}
        raise ParameterError(f"{kind.__name__}: {name}={text!r} is not {expected}{advice.get(hint, '')}") from None
    return text
