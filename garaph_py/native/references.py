"""Finds the objects that a function's machine code depends on, and hashes them, without importing Numba.

Numba compiles the values of globals and closure variables into the code. The cache key therefore covers them: after a
user edits a constant in a module, code with its old value must not be used.
"""

from __future__ import annotations

import enum
import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import call, is_
from typing import Any

import numpy as np

CONSTANTS = (
    int, float, complex, bool, str, bytes, type(None), types.CodeType, types.FunctionType, types.BuiltinFunctionType,
    types.ModuleType, np.ufunc,
)  # fmt: skip
"""Types whose objects do not change, except that functions and modules refer to others."""
MISSING = object()
"""Stands for the value of a name that is not defined."""
KNOWN = ("numpy", "math", "cmath", "operator", "builtins")
"""Modules whose contents are not hashed: they follow from their versions, which are part of the cache key."""


def plain(value: Any) -> types.FunctionType | None:
    """`value` if it is a plain Python function, the function behind it if it is a Numba dispatcher, else None."""
    function = value if isinstance(value, types.FunctionType) else getattr(value, "py_func", None)
    return function if isinstance(function, types.FunctionType) else None


def is_known(module: types.ModuleType) -> bool:
    """Whether `module` is one of `KNOWN`, or a part of one."""
    return module.__name__.split(".")[0] in KNOWN


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and every code object nested in it (comprehensions, inner functions)."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def names_in(function: types.FunctionType) -> list[str]:
    """The names of globals and attributes in the body of `function`."""
    return sorted({name for code in code_objects(function.__code__) for name in code.co_names})


def global_references(function: types.FunctionType) -> dict[str, Any]:
    """The globals that `function` uses, by name."""
    return {name: function.__globals__[name] for name in names_in(function) if name in function.__globals__}


def closure_references(function: types.FunctionType) -> dict[str, Any]:
    """The closure variables of `function`, by name."""
    cells = function.__closure__ or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))


def rebuild(
    function: types.FunctionType,
    finish: Callable[[types.FunctionType], Any] = lambda copy: copy,
    more_globals: Mapping[str, Any] | None = None,
    memo: dict[Any, Any] | None = None,
) -> Any:
    """Copy `function` and all functions that it refers to, as globals, closure variables or ``module.name``.

    Parameters
    ----------
    function : function
    finish : callable
        ``finish(copy)`` is what the other copies refer to in place of the copy; by default the copy itself.
    more_globals : dict, optional
        Further globals, for names that a function's module does not define.
    memo : dict, optional
        Replacements that are known already, by function. Those that are made are added.

    Returns
    -------
    object
        The replacement of `function`.
    """
    memo = {} if memo is None else memo
    if function in memo:
        return memo[function]
    names = {**(more_globals or {}), **function.__globals__}
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__module__, copy.__qualname__ = (
        function.__kwdefaults__, function.__module__, function.__qualname__,
    )  # fmt: skip
    memo[function] = finish(copy)  # before following its references, which may lead back to `function`
    modules: dict[str, types.ModuleType] = {}

    def stand_in(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return value if is_known(value) else part_of(value)
        inner = plain(value)
        return value if inner is None else rebuild(inner, finish, more_globals, memo)

    def part_of(module: types.ModuleType) -> types.ModuleType:
        if module.__name__ not in modules:
            modules[module.__name__] = part = types.ModuleType(module.__name__)
            for name in names_in(function):
                if name in vars(module):
                    setattr(part, name, stand_in(vars(module)[name]))
        return modules[module.__name__]

    names.update({name: stand_in(value) for name, value in global_references(function).items()})
    for cell, value in zip(cells, closure_references(function).values(), strict=True):
        cell.cell_contents = stand_in(value)
    return memo[function]


def fingerprint(*objects: Any) -> str:
    """A hash of `objects` and, for functions, of their bytecode and of everything that bytecode refers to.

    It is the same in every process: it depends neither on addresses nor on the order of sets.
    """
    return hashed(*objects).digest.hexdigest()


def hashed(*objects: Any) -> Hasher:
    """A `Hasher` that has visited `objects`."""
    hasher = Hasher()
    for item in objects:
        hasher.visit(item)
    return hasher


class References:
    """What `functions` refer to, as it was when this object was made.

    What has been computed from the functions holds as long as they are `unchanged`. To find that out takes some
    microseconds, because only values that can change in place are hashed again.

    Attributes
    ----------
    fingerprint : str
        That of the functions.
    """

    def __init__(self, functions: Mapping[str, types.FunctionType]) -> None:
        hasher = hashed(functions)
        self.fingerprint = hasher.digest.hexdigest()
        values = [(read, read()) for read in hasher.reads]
        constant = [(read, value) for read, value in values if is_constant(value)]
        self._reads, self._values = [read for read, _ in constant], [value for _, value in constant]
        self._mutable = [(read, fingerprint(value)) for read, value in values if not is_constant(value)]

    def unchanged(self) -> bool:
        """Whether the functions and all that they refer to are the same as before."""
        return all(map(is_, map(call, self._reads), self._values)) and all(
            fingerprint(read()) == digest for read, digest in self._mutable
        )


def is_constant(value: Any) -> bool:
    """Whether an object that has not been replaced by another one cannot have changed either."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return (
        value is MISSING
        or type(value) in CONSTANTS
        or isinstance(value, (type, np.number, np.bool_))
        or plain(value) is not None
    )


class Hasher:
    """Hashes objects and all that they refer to; see `fingerprint`.

    Attributes
    ----------
    reads : list of callable
        Each reads a part of a visited function again, or something that it refers to by name.
    """

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.seen: dict[int, int] = {}  # the functions visited so far, by address, in order
        self.reads: list[Callable[[], Any]] = []

    def add(self, *parts: object) -> None:
        """Hash the text of `parts`, each with its length."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.digest.update(b"%d:" % len(data) + data)

    def visit(self, value: Any) -> None:
        """Hash any object."""
        function = plain(value)
        if function is not None:
            self.visit_function(function)
        elif isinstance(value, types.CodeType):
            self.visit_code(value)
        elif isinstance(value, types.ModuleType):
            self.add("module", value.__name__)
        elif isinstance(value, type):
            self.add("class", value.__module__, value.__qualname__, getattr(value, "_fields", ()))
            if issubclass(value, enum.Enum):
                self.visit({name: member.value for name, member in value.__members__.items()})
        elif isinstance(value, np.ndarray):
            self.add("array", value.dtype, value.shape, value.strides, value.tobytes())
        elif isinstance(value, (tuple, list)):
            self.add("sequence", len(value))
            self.visit(type(value))  # the fields of a named tuple
            for item in value:
                self.visit(item)
        elif isinstance(value, (set, frozenset)):
            self.add(type(value).__name__, *sorted(fingerprint(item) for item in value))
        elif isinstance(value, dict):
            self.add("dict", len(value))
            for key, item in value.items():
                self.visit(key)
                self.visit(item)
        else:
            text = repr(value)
            self.add(type(value).__qualname__, "" if text == object.__repr__(value) else text)

    def visit_function(self, function: types.FunctionType) -> None:
        """Hash a function: its code, its defaults, and the globals and closure variables that it uses."""
        if id(function) in self.seen:
            self.add("seen", self.seen[id(function)])
            return
        self.seen[id(function)] = len(self.seen)
        self.add("function", function.__name__)
        self.visit_code(function.__code__)
        self.visit(function.__defaults__)
        self.visit(function.__kwdefaults__)
        attributes = names_in(function)
        self.reads += [partial(getattr, function, part) for part in ("__code__", "__defaults__", "__kwdefaults__")]
        self.reads += [partial(getattr, cell, "cell_contents") for cell in function.__closure__ or ()]
        self._note(function.__globals__, attributes)
        for name, target in (global_references(function) | closure_references(function)).items():
            self.add(name)
            if isinstance(target, types.ModuleType):
                self.visit_module(target, attributes, set())
            else:
                self.visit(target)

    def visit_code(self, code: types.CodeType) -> None:
        """Hash bytecode, its names and its constants."""
        self.add("code", code.co_code, code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)
        self.add(code.co_flags, code.co_exceptiontable)
        for constant in code.co_consts:
            self.visit(constant)

    def visit_module(self, module: types.ModuleType, attributes: list[str], visiting: set[str]) -> None:
        """Hash those `attributes` of a module that it has; `visiting` are the modules that led here."""
        self.add("module", module.__name__)
        if is_known(module) or module.__name__ in visiting:
            return
        self._note(vars(module), attributes)
        for name in attributes:
            if name in vars(module):
                self.add(name)
                target = vars(module)[name]
                if isinstance(target, types.ModuleType):
                    self.visit_module(target, attributes, visiting | {module.__name__})
                else:
                    self.visit(target)

    def _note(self, space: dict[str, Any], names: list[str]) -> None:
        """Note that the values of these `names` in a namespace have been read, and which are not there."""
        self.reads += [partial(space.get, name, MISSING) for name in names]
