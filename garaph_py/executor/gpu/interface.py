"""Makes a bound program callable from the CUDA kernels: its types become C++ structs, its functions C functions.

The functions stay in Python. For each there is a Python wrapper that takes only numbers, which numba-cuda compiles, and
an inline C++ function that takes structs and calls the wrapper. The linker inlines both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...program import BoundProgram
from ...program.columns import has_even_rows
from ...program.define import define
from ...program.dtypes import record_class
from ...program.functions import Functions, functions, partial_dtype
from ...program.monoids import largest
from ...program.signatures import offered

DType = np.dtype[Any]

C_NAMES = {
    "int32": "int", "int64": "i64", "uint32": "u32", "uint64": "u64", "float32": "float", "float64": "double",
}  # fmt: skip
VALUES = ("src", "dst", "old", "new", "value")
RETURNS = {
    "sum": "Accumulator", "init": "Value", "gather": "Accumulator", "apply": "Value", "activate": "bool",
    "frontier": "bool", "prepare": "Value", "aggregate": "Partial", "result": "Report", "identity": "Accumulator",
    "done": "bool", "priority": "Value", "delta": "Accumulator", "is_lost": "bool", "add_total": "Partial",
    "no_total": "Partial",
}  # fmt: skip
"""The C++ type that each function returns. Functions are compiled in this order: `sum` comes before `apply`, because
the default `apply` calls `sum`."""
OF_COLUMNS = (
    "sum", "init", "gather", "apply", "activate", "frontier", "aggregate", "result", "identity", "add_total",
    "no_total",
)  # fmt: skip
"""The functions of one column that the kernels for rows call."""
ATOMICS = {
    "add": "atomic_add", "min": "atomic_min", "max": "atomic_max", "bitwise_and": "atomic_and",
    "bitwise_or": "atomic_or", "bitwise_xor": "atomic_xor",
}  # fmt: skip
"""Sums for which `kernels/atomics.cuh` has a function; for most types it is one atomic instruction of CUDA."""


@dataclass(frozen=True)
class Wrapper:
    """A function of the program with a C interface.

    Attributes
    ----------
    name : str
        Name of the C function.
    function : function
        A Python function that takes numbers. If the result is a structure, the function writes its fields through
        pointers, which are its last arguments.
    arguments : list of dtype
    returns : dtype or list of dtype
        The type of its result, or the types of the fields that it writes through the pointers.
    """

    name: str
    function: Any
    arguments: list[DType]
    returns: DType | list[DType]


class Interface:
    """Types and functions of `bound` for the kernels in ``kernels/``.

    Attributes
    ----------
    header : str
        C++: types, flags, and the program's functions.
    wrappers : list of Wrapper
        The functions that the header declares, for the linker.
    """

    def __init__(self, bound: BoundProgram) -> None:
        calls = Calls(types_of(bound), functions(bound))
        is_wanted = {
            "done": gathers_until_done(bound), "priority": has_priority(bound), "delta": bound.pushes_deltas,
            "is_lost": bound.is_narrowed,
        }  # fmt: skip
        wanted = {name: result for name, result in RETURNS.items() if is_wanted.get(name, True)}
        lines = [*calls.declared_types(), *flags(bound), *(calls.wrap(name, result) for name, result in wanted.items())]
        if bound.is_relaxation and not bound.columns:
            lines.append(order_of(bound))
        lines += [atomic_sum(bound), not_finite_bits(bound.value, "Value"), as_total(bound.total)]
        self.wrappers = calls.wrappers
        if has_even_rows(bound):
            column = bound.columns[0]
            calls = Calls(types_of(column), functions(column), of_columns=True)
            lines += [*calls.declared_types(), *(calls.wrap(name, RETURNS[name]) for name in OF_COLUMNS)]
            lines.append(not_finite_bits(column.value, "ColumnValue"))
            self.wrappers += calls.wrappers
        self.header = "\n".join([*lines, ""])


def types_of(bound: BoundProgram) -> dict[str, DType | None]:
    """The program's types, by their names in C++; None for one that it does not have."""
    data = None if bound.vertex_data is None else bound.vertex_data.dtype
    return {
        "Value": bound.value,
        "Accumulator": bound.accumulator,
        "Total": bound.total,
        "Partial": partial_dtype(bound.total),
        "Report": bound.reports,
        "Edge": bound.edge,
        "VertexData": data,
        "VertexNumber": None if data is None or bound.columns else data[0],  # its fields have one type
        "Parameters": bound.parameters.dtype,
    }


class Calls:
    """Makes functions callable from C++, one by one.

    Parameters
    ----------
    types : dict
        See `types_of`.
    plain : Functions
    of_columns : bool
        The functions are those of one column of a row: names of types begin with ``Column``, those of functions end
        with ``_column``.

    Attributes
    ----------
    wrappers : list of Wrapper
        Those made so far.
    """

    def __init__(self, types: dict[str, DType | None], plain: Functions, of_columns: bool = False) -> None:
        self._types, self._plain = types, plain
        self._suffix = "_column" if of_columns else ""
        self._names = {kind: f"Column{kind}" if of_columns and kind != "Edge" else kind for kind in types}
        self.wrappers: list[Wrapper] = []

    def declared_types(self) -> list[str]:
        """The C++ types, but for that of edge values if they are those of columns: it is the same."""
        return [
            c_type(self._names[kind], dtype)
            for kind, dtype in self._types.items()
            if not self._suffix or self._names[kind] != kind
        ]

    def wrap(self, name: str, result: str) -> str:
        """Add the wrapper of one function; return the C++ that calls it."""
        given, passed, asked = [], [], []  # parameters in C++, numbers it passes, arguments in Python
        taken: list[tuple[str, DType]] = []
        records: dict[str, Any] = {}
        for argument in signature(name):
            kind = kind_of(name, argument)
            c_kind = self._names.get(kind, kind)
            given.append(f"{C_KINDS.get(kind, '{}').format(c_kind)} {c_field(argument)}")
            dtype = self._types.get(kind, np.dtype(np.int32 if kind == "bool" else np.int64))
            if dtype is None:
                asked.append("seen_edge(0)" if kind == "Edge" else "0")
            elif dtype.names:
                numbers = [f"{argument}__{field}" for field in dtype.names]  # of src, id is not the argument src_id
                taken += zip(numbers, (dtype[field] for field in dtype.names), strict=True)
                passed += [f"{c_field(argument)}.{c_field(field)}" for field in dtype.names]
                records[f"Record_{argument}"] = record_class(dtype.names)  # no number's name begins with "Record_"
                asked.append(f"Record_{argument}({', '.join(numbers)})")
            else:
                taken.append((argument, dtype))
                passed.append(c_field(argument))
                asked.append(PASSED.get(kind, "{}").format(argument))
        out: Any = np.dtype(np.int32) if result == "bool" else self._types[result]
        result = self._names.get(result, result)
        fields = out.names or ()
        outs = [f"out{k}" for k in range(len(fields))]
        call = f"function({', '.join(asked)})"
        lines = [f"r = {call}", *(f"{item}[0] = r[{k}]" for k, item in enumerate(outs))]
        if not fields:
            lines = [f"return {f'1 if {call} else 0' if result == 'bool' else call}"]
        function = define(
            "\n    ".join([f"def {name}({', '.join([item for item, _ in taken] + outs)}):", *lines]),
            function=getattr(self._plain, name), seen_count=self._plain.count, seen_edge=self._plain.edge, **records,
        )  # fmt: skip
        returns: DType | list[DType] = [out[field] for field in fields] if fields else out
        wrapper = Wrapper(f"garaph_{name}{self._suffix}", function, [dtype for _, dtype in taken], returns)
        self.wrappers.append(wrapper)
        declared = [c_name(dtype) for dtype in wrapper.arguments] + [f"{c_name(out[field])}*" for field in fields]
        called = f"{wrapper.name}({', '.join(passed + [f'&r.{c_field(field)}' for field in fields])})"
        return (
            f'extern "C" __device__ {"void" if fields else c_name(out)} {wrapper.name}({", ".join(declared)});\n'
            f"__device__ __forceinline__ {result} {C_CALLS.get(name, name)}{self._suffix}({', '.join(given)}) "
            f"{{ {f'{result} r; {called}; return r;' if fields else f'return {called};'} }}"
        )


C_CALLS = {"sum": "combine", "init": "initial", "result": "reported"}
C_KINDS = {"Parameters": "const {}&", "count": "i64", "number": "i64"}
PASSED = {"bool": "{} != 0", "count": "seen_count({})", "Edge": "seen_edge({})"}


def signature(name: str) -> tuple[str, ...]:
    """The arguments of a function, in their order."""
    others: dict[str, tuple[str, ...]] = {
        "sum": ("left", "right"), "identity": ("self",), "add_total": ("left", "right"), "no_total": (),
        "is_lost": ("value",),
    }  # fmt: skip
    return others[name] if name in others else offered(name)


def kind_of(name: str, argument: str) -> str:
    """The C++ type of an argument; ``"count"`` and ``"number"`` are 64-bit integers."""
    if argument in VALUES:
        return "Value"
    if argument in ("left", "right"):
        return "Partial" if name == "add_total" else "Accumulator"
    named = {
        "self": "Parameters", "acc": "Accumulator", "total": "Total", "edge": "Edge", "data": "VertexData",
        "active": "bool",
    }  # fmt: skip
    return named.get(argument, "count" if argument in ("n", "in_degree", "out_degree") else "number")


def c_name(dtype: DType) -> str:
    return C_NAMES[dtype.name]


def c_field(name: str) -> str:
    """A C++ identifier for a user's name, which could be a C++ keyword."""
    return f"{name}_"


def c_type(name: str, dtype: DType | None) -> str:
    """Define a C++ type with the layout of `dtype`; an `int`, which no kernel uses, if the program has no such type."""
    if dtype is None:
        return f"typedef int {name};"
    if not dtype.names:
        return f"typedef {c_name(dtype)} {name};"
    fields = " ".join(f"{c_name(dtype[field])} {c_field(field)};" for field in dtype.names)
    aligned = f"alignas({dtype.itemsize}) " if dtype.itemsize in (8, 16) and name != "Parameters" else ""
    return f'struct {aligned}{name} {{ {fields} }};\nstatic_assert(sizeof({name}) == {dtype.itemsize}, "layout");'


def flags(bound: BoundProgram) -> list[str]:
    """C++ constants that say which features the program uses; the compiler drops the code of the others."""
    known = {
        "READS_EDGES": bound.reads_edge_values,
        "INTEGER_EDGES": bound.reads_edge_values and bound.edge is not None and bound.edge.kind in "iu",
        "READS_DST": bound.reads_dst,
        "HAS_TOTAL": bound.total is not None,
        "HAS_DATA": bound.vertex_data is not None,
        "HAS_PRIORITY": has_priority(bound),
    }
    return [f"constexpr bool {name} = {'true' if value else 'false'};" for name, value in known.items()]


def as_total(total: DType | None) -> str:
    """A C++ function that makes a total of a partial sum, whose numbers have 64 bits."""
    fields = () if total is None else total.names or ()
    numbers = (
        ", ".join(f"({c_name(total[name])})partial.{c_field(name)}" for name in fields) if total is not None else ""
    )
    made = f"Total{{{numbers}}}" if fields else "(Total)partial"
    return f"__device__ __forceinline__ Total as_total(Partial partial) {{ return {made}; }}"


def float_fields(dtype: DType) -> list[str]:
    """The names of the fields of `dtype` that are floats; ``""`` stands for a scalar float."""
    fields = {name: dtype[name] for name in dtype.names} if dtype.names else {"": dtype}
    return [name for name, kind in fields.items() if kind.kind == "f"]


def not_finite_fields(dtype: DType, bits: int) -> frozenset[tuple[str, str]]:
    """The fields of `dtype` that are ``"nan"`` or ``"inf"`` by these bits of `not_finite_bits`."""
    kinds = [(name, kind) for name in float_fields(dtype) for kind in ("nan", "inf")]
    return frozenset(pair for k, pair in enumerate(kinds) if bits >> k & 1)


def not_finite_bits(dtype: DType, name: str) -> str:
    """The C++ function that says of a value of type `name` which of its `float_fields` are NaN or infinite."""
    tests = ["u64 bits = 0;"]
    for k, field in enumerate(float_fields(dtype)):
        number = f"x.{c_field(field)}" if field else "x"
        tests.append(f"if (isnan({number})) bits |= {1 << 2 * k}ull;")
        tests.append(f"if (isinf({number})) bits |= {2 << 2 * k}ull;")
    return f"__device__ __forceinline__ u64 not_finite_bits(const {name}& x) {{ {' '.join(tests)} return bits; }}"


def gathers_until_done(bound: BoundProgram) -> bool:
    """Whether a gather may end before a vertex's last edge, and leave out inactive sources."""
    return bound.is_relaxation and "done" in bound.arguments


def has_bits(bound: BoundProgram) -> bool:
    """Whether a value may have a bit for each of several searches, which gathers wait for."""
    return gathers_until_done(bound) and bound.ends_late and bound.value.itemsize == 8


def has_priority(bound: BoundProgram) -> bool:
    """Whether vertices of smaller priority push first, where new values are visible at once."""
    return bound.is_relaxation and "priority" in bound.arguments


def order_of(bound: BoundProgram) -> str:
    """The C++ function that returns the largest `Value`; and `priority`, if the program has none, for the compiler."""
    dtype = bound.value
    most = {"float32": "__int_as_float(0x7f800000)", "float64": "__longlong_as_double(0x7ff0000000000000ll)"}
    literal = most.get(dtype.name) or f"{largest(dtype)}ull"
    lines = [f"__device__ __forceinline__ Value highest() {{ return (Value){literal}; }}"]
    if not has_priority(bound):
        lines.append("__device__ __forceinline__ Value priority(const Parameters&, Value value) { return value; }")
    return "\n".join(lines)


def can_replicate(bound: BoundProgram) -> bool:
    """Whether the program's sum can be atomic: a named sum is atomic in each field, any other needs 4 or 8 bytes."""
    return bound.program.sum.is_named or bound.accumulator.itemsize in (4, 8)


def atomic_sum(bound: BoundProgram) -> str:
    """The C++ function that adds to an accumulator in shared or global memory while other threads add to it too."""
    head = "__device__ __forceinline__ void atomic_sum(Accumulator* at, Accumulator x) "
    monoid, names = bound.program.sum, bound.accumulator.names
    if monoid.is_named and monoid.name in ATOMICS:
        operation = ATOMICS[monoid.name]
        parts = (
            [f"{operation}(&at->{field}, x.{field});" for field in map(c_field, names)]
            if names
            else [f"{operation}(at, x);"]
        )
    elif monoid.is_named and names:
        # Combined by compiled Python: one field is replaced, and the other fields of the result are not used.
        parts = [
            f"atomic_replace(&at->{c_field(name)}, [&]({c_name(bound.accumulator[name])} y) "
            f"{{ Accumulator z = x; z.{c_field(name)} = y; return combine(z, x).{c_field(name)}; }});"
            for name in names
        ]
    elif can_replicate(bound):
        parts = ["atomic_replace(at, [&](Accumulator y) { return combine(y, x); });"]
    else:
        parts = []
    return f"{head}{{ {' '.join(parts)} }}"
