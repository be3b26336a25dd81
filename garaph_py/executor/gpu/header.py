"""Generates ``garaph_generated.cuh``: the constants, types, structs and functions that kernels share with Python."""

from __future__ import annotations

from ...codec.format import GROUP, RECORD
from ...program import BoundProgram
from ...program.columns import has_even_rows
from ...program.functions import partial_dtype
from ..components import SAMPLE
from .interface import Interface, can_replicate, gathers_until_done, has_bits
from .ranks import MANY_RUNS, RUN
from .rows import accessors
from .task import Layouts

NAME = "garaph_generated.cuh"
THREADS = 256
"""Threads per block of all kernels but `gather_replicated`."""
REPLICATED_THREADS = 512
"""Threads per block of `gather_replicated`."""
VERTICES_PER_THREAD = 8
"""Vertices that a thread updates. With more vertices per thread, there are fewer blocks whose partial totals have to be
added up."""
PIECE = 512
"""Edges of a piece of a long edge list, which one warp pushes."""
FEW_BLOCKS, FEW_THREADS = 8, 512
"""Blocks of `push_few` and `push_few_deltas`, as many as a cluster may have on every GPU that has clusters, and threads
of each block. With 256 or 1,024 threads, a superstep of `push_few` over a grid of a million vertices took a sixth
longer (H200)."""
FEW_LISTS, FEW_EDGES = 4, 16
"""Active vertices for each thread of these kernels, and their out-edges, up to which a frontier is small."""
MANY_EDGES = 2
"""Edges for each thread of `push_few` above which vertices wait for others of smaller priority. Up to so many in all,
8,192, a superstep takes hardly longer than without any. Simulated with 7 microseconds a superstep and 3 edges a
nanosecond, SSSP over road-rome and a grid takes 5 to 25 % longer with 4, and up to a quarter longer with 1."""
CHAIN_LENGTH = 6
"""Supersteps that are launched together; all supersteps of one launch of these kernels count as one. A BFS over an
R-MAT graph takes five. An unused one costs 40 to 70 microseconds, in which the host launches its kernels (H100 and H200
hosts)."""
MOST_PULLS = 8
"""Most pulls that are launched together. The host takes some 0.2 ms once for all of them, which is then small for each
(docs/results/gpu.md, "Pulls launched ahead")."""
MOST_SUPERSTEPS = 4096
"""Supersteps after which a chain ends, those inside one launch included; the GPU keeps 32 bytes about each."""
LONGEST_LAUNCH = 50_000_000
"""Nanoseconds after which a chain ends, so that the host can stop the run, or copy its state."""
PUSHES, PUSHES_FEW, PULLS = 1, 2, 4
"""Bits of what a superstep may do if several are launched together (kernels/choose.cu)."""
CLASSES = 256
"""Classes of vertices by their values, in the search for parents."""
CONSTANTS = {
    "RUN": (RUN, "edges that a warp takes"),
    "GROUP": (GROUP, "packed numbers of the same width"),
    "MANY_RUNS": (MANY_RUNS, "a destination with edges in more runs than this, after its first, is a hub"),
    "THREADS": (THREADS, "threads of a block"),
    "REPLICATED_THREADS": (REPLICATED_THREADS, "threads of a block of gather_replicated"),
    "PIECE": (PIECE, "edges of a piece of a long edge list"),
    "FEW_BLOCKS": (FEW_BLOCKS, "blocks of push_few"),
    "FEW_THREADS": (FEW_THREADS, "threads of a block of push_few"),
    "FEW_LISTS": (FEW_LISTS, "active vertices for each of its threads"),
    "FEW_EDGES": (FEW_EDGES, "out-edges for each of its threads"),
    "MANY_EDGES": (MANY_EDGES, "edges for each of its threads above which vertices wait for others"),
    "MOST_SUPERSTEPS": (MOST_SUPERSTEPS, "supersteps that are launched together"),
    "LONGEST_LAUNCH": (LONGEST_LAUNCH, "nanoseconds after which none of these begins"),
    "CLASSES": (CLASSES, "classes of vertices by their values"),
    "SAMPLE": (SAMPLE, "vertices among which the largest tree is looked for"),
    "VERTICES_PER_THREAD": (VERTICES_PER_THREAD, "vertices that a thread updates"),
    "PUSHES": (PUSHES, "a superstep pushes"),
    "PUSHES_FEW": (PUSHES_FEW, "it and those that follow push, by push_few"),
    "PULLS": (PULLS, "a superstep pulls"),
}
RECORD_TYPES = {"int64": "i64", "uint8": "unsigned char"}


def header(bound: BoundProgram, interface: Interface) -> str:
    """The header for one program."""
    constants = [f"constexpr int {name} = {value};  // {about}" for name, (value, about) in CONSTANTS.items()]
    return "\n".join([
        "// What the kernels share with Python. Generated for one program.",
        "#pragma once", "",
        '#include "atomics.cuh"', '#include "words.cuh"', "",
        f"#define CAN_REPLICATE {int(can_replicate(bound))}  // the program's sum can be an atomic operation",
        f"#define IS_RELAXATION {int(bound.is_relaxation)}  // active vertices may push",
        f"#define PUSHES_DELTAS {int(bound.pushes_deltas)}  // active vertices may push what changes add to sums",
        f"#define ADDS_NUMBERS {int(bound.accumulator.names is None)}  // what is gathered is a number",
        f"#define GATHERS_UNTIL_DONE {int(gathers_until_done(bound))}  // a gather may end before the last edge",
        f"#define HAS_BITS {int(has_bits(bound))}  // values may have a bit for each of several searches",
        f"#define FINDS_PARENTS {int(bound.finds_parents)}  // the result asks for the parents of vertices",
        f"#define IS_NARROWED {int(bound.is_narrowed)}  // values of 64 bits are stored in 32",
        f"#define COPIES_SOURCES {int(bound.copies_sources)}  // union-find may give the answer",
        f"#define HAS_ROWS {int(has_even_rows(bound))}  // values are arrays of columns, one for a lane",
        *constants, "", record(), "",
        interface.header,
        accessors(bound),
        Layouts(bound.parameters.dtype, partial_dtype(bound.total)).structs(), "",
    ])  # fmt: skip


def record() -> str:
    """The C++ struct of a packed run's record."""
    fields = []
    for name in RECORD.names or ():
        dtype = RECORD[name]
        count = f"[{dtype.shape[0]}]" if dtype.shape else ""
        fields.append(f"  {RECORD_TYPES[dtype.base.name]} {name}{count};")
    check = f'static_assert(sizeof(Record) == {RECORD.itemsize}, "layout");'
    return "\n".join(["struct Record {", *fields, "};", check])
