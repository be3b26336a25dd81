"""A program as text, from which another process can make it again without pickle: source, parameters, constants.

A class of the library is sent as an import. A user's class is sent as its source, with the source of the functions and
classes of its module that it refers to, the imports, and the values of constants.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import linecache
import symtable
import sys
import textwrap
import threading
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import ClusterError, ProgramError
from ..native.references import closure_references, plain
from ..program import VertexProgram

FUTURE = "from __future__ import annotations\n"
PLAIN = (int, float, str, bool, bytes, type(None))
"""Types of constants that are sent as they are."""
LIBRARY = "garaph_py"
_lock = threading.Lock()  # workers that are threads of one process make the same modules


class SentProgram(NamedTuple):
    """A program as plain data.

    Attributes
    ----------
    name : str
        The name of its class.
    source : str
        Python text that defines the class.
    constants : dict
        The values of names that the text uses and does not define.
    parameters : dict
        The values of its parameters.
    """

    name: str
    source: str
    constants: dict[str, Any]
    parameters: dict[str, Any]


def sent(program: VertexProgram) -> SentProgram:
    """The program as plain data.

    Raises
    ------
    ProgramError
        If the source of its class, or of something to which it refers, cannot be found; or if a parameter cannot be
        sent.
    """
    kind = type(program)
    text = Text(kind)
    given = [field.name for field in dataclasses.fields(program)]  # type: ignore[arg-type]
    parameters = {name: as_plain(f"{kind.__name__}.{name}", getattr(program, name)) for name in given}
    return SentProgram(kind.__name__, text.source, text.constants, parameters)


def received(program: SentProgram) -> VertexProgram:
    """The program, made again.

    Raises
    ------
    ClusterError
        If the text cannot be run here, for example because a package is missing.
    """
    with _lock:
        module = module_of(program)
    kind, given = vars(module)[program.name], dict(program.parameters)
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    made: VertexProgram = kind(**{name: given.pop(name) for name in names})
    for name, value in given.items():
        object.__setattr__(made, name, value)  # what `for_graph` has set
    return made


def module_of(program: SentProgram) -> types.ModuleType:
    """The module of a program's class. It is made again if its constants have changed."""
    name = f"garaph_sent_{hashlib.sha256(program.source.encode()).hexdigest()[:16]}"
    module = sys.modules.get(name)
    if module is None or not same(vars(module), program.constants):
        file = f"<{name}>"
        module = types.ModuleType(name)
        vars(module).update(program.constants)
        linecache.cache[file] = len(program.source), None, program.source.splitlines(True), file
        sys.modules[name] = module  # dataclasses look here for the module of a class
        try:
            exec(compile(program.source, file, "exec"), vars(module))
        except Exception as error:
            del sys.modules[name]
            raise ClusterError(
                f"a worker cannot make {program.name}: {type(error).__name__}: {error}; install on the workers what "
                "the program imports, or send it there with client.upload_file(...)"
            ) from error
    return module


def same(names: dict[str, Any], constants: dict[str, Any]) -> bool:
    """Whether all of the constants have the same values in `names`."""
    return all(name in names and np.array_equal(names[name], value) for name, value in constants.items())


def as_plain(what: str, value: Any) -> Any:
    """A number, text, an array, or a tuple of these, as plain data.

    Raises
    ------
    ProgramError
        If it is something else.
    """
    if isinstance(value, tuple):
        return tuple(as_plain(what, item) for item in value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return value
    if isinstance(value, (*PLAIN, np.dtype)):
        return value
    raise ProgramError(
        f"{what} is {value!r:.60}, which cannot be sent to a cluster; use numbers, text, arrays, or functions and "
        "classes that the program's own file defines"
    )


class Text:
    """The source of a class and of all that it refers to.

    Attributes
    ----------
    source : str
    constants : dict
    """

    def __init__(self, kind: type) -> None:
        self.constants: dict[str, Any] = {}
        self._kind, self._done = kind, set[str]()
        self._imports: list[str] = []
        self._pieces: list[str] = []
        self._define(kind.__name__, kind)
        imports = "".join(dict.fromkeys(self._imports))
        self.source = FUTURE + imports + "\n\n".join(self._pieces)

    def _define(self, name: str, value: Any) -> None:
        """Have the text define `name` as `value`."""
        if name in self._done:
            return
        self._done.add(name)
        function = plain(value)
        own = value if function is None else function
        if isinstance(value, types.ModuleType):
            self._imports.append(f"import {value.__name__} as {name}\n")
        elif (isinstance(value, type) or function is not None) and self._is_own(own):
            self._own(name, own)
        elif (found := where_of(value, name)) is not None:
            self._imports.append(f"from {found[0]} import {found[1]} as {name}\n")
        else:
            self.constants[name] = as_plain(f"{name}, which {self._kind.__name__} refers to,", value)

    def _is_own(self, value: Any) -> bool:
        """Whether a class or function is of the same module as the class, and not of the library."""
        return value.__module__ == self._kind.__module__ and not is_library(value.__module__)

    def _own(self, name: str, value: Any) -> None:
        """Add the source of a class or function of the user's module, after what it refers to."""
        try:
            source = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            raise ProgramError(
                f"a cluster needs the source of {name}, which cannot be found; define it in a file or a notebook"
            ) from None
        names = names_of(value)
        for used in global_names(source):
            if used in names:
                self._define(used, names[used])
        self._pieces.append(source)
        if name != value.__name__:
            self._pieces.append(f"{name} = {value.__name__}\n")


def is_library(module: str) -> bool:
    return module.split(".")[0] == LIBRARY


def functions_in(value: Any) -> Iterator[types.FunctionType]:
    """A function, or the functions of a class."""
    for item in vars(value).values() if isinstance(value, type) else (value,):
        inner = plain(getattr(item, "__func__", item))
        if inner is not None:
            yield inner


def names_of(value: Any) -> dict[str, Any]:
    """The globals and closure variables that the source of a class or function may use."""
    module = sys.modules.get(value.__module__)
    names = {} if module is None else dict(vars(module))
    for function in functions_in(value):
        if function.__module__ == value.__module__:
            names.update(function.__globals__)
            names.update(closure_references(function))
    return names


def global_names(source: str) -> set[str]:
    """The names that `source` uses and does not define itself."""

    def walk(table: symtable.SymbolTable) -> Iterator[str]:
        yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
        for child in table.get_children():
            yield from walk(child)

    return set(walk(symtable.symtable(source, "<source>", "exec")))


def where_of(value: Any, name: str) -> tuple[str, str] | None:
    """The module and the name under which `value` can be imported; None if there is none."""
    module = getattr(value, "__module__", None)
    candidates = [(module, getattr(value, own, name)) for own in ("__name__", "__qualname__")]  # an app may rename one
    if isinstance(value, np.ufunc):
        candidates.append(("numpy", value.__name__))
    if is_library(type(value).__module__) or "Annotated" in type(value).__name__:
        candidates += [(LIBRARY, name), (LIBRARY, getattr(value, "name", name))]
    for module, attribute in candidates:
        if module is not None and getattr(sys.modules.get(module), str(attribute), None) is value:
            return module, attribute
    return None
