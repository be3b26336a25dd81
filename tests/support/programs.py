"""Programs that several tests run, derive others from, or write down as text."""

import numpy as np

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.program.check import check_types


class DataDriven(gp.VertexProgram):
    """PageRank without redistribution as in Grus: a residual is handed out once it is worth it."""

    damping: float = 0.85
    worth: float = 1e-7

    value = {"rank": np.float64, "residual": np.float64, "delta": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = gp.add
    reports = float

    def init(self, n):
        return 0.0, (1 - self.damping) / n, 0.0

    def prepare(self, value, active):
        if active:
            return value.rank + value.residual, 0.0, value.residual
        return value.rank, value.residual, 0.0

    def gather(self, src):
        return src.delta

    def apply(self, old, acc):
        return old.rank, old.residual + self.damping * acc, old.delta

    def activate(self, new):
        return new.residual > self.worth

    def result(self, value):
        return value.rank + value.residual


class Relabel(gp.VertexProgram):
    """Component labels until few change; counts the changes and adds the labels up."""

    few: int = 20

    value = np.int64
    sum = gp.min
    total = {"changed": int, "labels": int}  # noqa: RUF012

    def init(self, id):
        return id

    def gather(self, src):
        return src

    def apply(self, old, acc):
        return min(old, acc)

    def aggregate(self, new, old):
        return new != old, new

    def converged(self, total, n):
        self.seen.append((total, n))
        return total.changed < self.few


class Strongest(gp.VertexProgram):
    """The strongest in-edge and its source, of equal ones the least; and how many in-edges there were."""

    value = {"strength": np.float64, "source": np.int64, "edges": np.uint32}  # noqa: RUF012
    accumulator = value
    sum = gp.Monoid(
        lambda a, b: (
            max(a.strength, b.strength),
            a.source if a.strength > b.strength or (a.strength == b.strength and a.source < b.source) else b.source,
            a.edges + b.edges,
        ),
        (-1.0, -1, 0),
    )
    reports = {"strength": np.float64, "source": gp.VertexId, "edges": np.uint32}  # noqa: RUF012

    def init(self):
        return -1.0, -1, 0

    def gather(self, edge, src_id):
        return edge, src_id, 1

    def apply(self, acc):
        return acc

    def result(self, value):
        return value


RING = gp.from_edges([0, 1, 2], [1, 2, 0])


WEIGHTED = gp.from_edges([0, 1, 2], [1, 2, 0], np.array([1, 2, 3], np.float32))


HELPERS = """
import math
import numba
import numpy as np
K = 2.0
def scaled(x): return x * float(K)
def doubled(x): return inner(x) + scaled(x) - inner(x)
def inner(x): return math.tanh(x)
def wide(x): return x * 0.5
def hidden(x): return np.float32(x * 0.5)
def deep(x): return hidden(x)
def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x
def ping(x): return pong(x)
def pong(x): return ping(x)
@numba.njit
def jitted(x): return x + float(1)
"""


PROGRAM = """
import enum
import math
import numpy as np
import garaph_py as gp
import helpers_for_tests as helpers
from collections import namedtuple
from helpers_for_tests import deep, doubled, jitted, ping, raises, wide

RATE = 0.85
PAIR = namedtuple("Pair", "a b")(3, 4)
TABLE = np.arange(3, dtype=np.float32)
TEXTS = {{"a": 1}}

class Colour(enum.IntEnum):
    RED = 5

class Mine(gp.VertexProgram):
    rate: float = 0.5
    count: int = 3
    flag: bool = True
    name: str = "x"
    heat: gp.PerVertex = 0.0
    bare = 0.5

    value = {value}
    sum = gp.add

    def init(self, id):
        return float(id + 1)

    def gather(self, src, edge):
        return src

    def apply(self, old, acc, id):
        {body}

    def _method(self):
        return 1
"""


def program(body, value="np.float32"):
    """A program class made as in a REPL, with no source file: ``apply`` has this body, from line 39 on."""
    names = {"__name__": "__main__"}
    exec(compile(PROGRAM.format(value=value, body=body.replace("\n", "\n        ")), "mine.py", "exec"), names)
    return names["Mine"]


def check(instance, graph=RING):
    check_types(bind(instance, graph))


FLOAT64 = "computes in float64, but the program is float32"


class Sum(gp.VertexProgram):
    """A correct program that tests derive wrong ones from."""

    value = np.int64
    sum = gp.add

    def init(self, id):
        return id

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc


def derived(**contents):
    """`Sum` with other contents."""
    return type("Wrong", (Sum,), {"__module__": __name__, **contents})


def parameter(name, hint=float, default=0.5):
    return {"__annotations__": {name: hint}, name: default}


WITH_POLICY = """
import garaph_py as gp
from garaph_py.dispatch.policy import POLICIES, AutoPolicy
from garaph_py.executor.decision import Decision

class AlwaysPull(AutoPolicy):
    name = "always-pull"
    def alone(self, seen): return Decision("pull", "always", seen.device)

POLICIES["always-pull"] = AlwaysPull()

class Reach(gp.VertexProgram):
    value = float
    sum = gp.add
    def init(self): return float(1)
    def gather(self, src): return src
"""
"""A file that registers a policy of its own beside its program."""


class Sees(gp.VertexProgram):
    """Mixes all that functions see of the graph: ids, sizes, degrees, a parameter for each vertex, a vertex."""

    root: gp.VertexId
    salt: gp.PerVertex = 3

    value = np.int64
    sum = gp.add
    total = int

    def init(self, id, n, in_degree, out_degree, salt):
        return id * 7 + n + in_degree * 3 + out_degree * 5 + salt

    def gather(self, src, src_id, dst):
        return src % 1009 + src_id + dst % 7

    def apply(self, old, acc, total, id, salt, in_degree):
        return acc % 100003 + total % 13 + (1000 if id == self.root else id) + salt + in_degree

    def aggregate(self, new, out_degree):
        return new % 11 + out_degree

    def result(self, value, id, out_degree):
        return value * 2 + id + out_degree


class Widest(gp.VertexProgram):
    """The narrowest edge of the widest path from a vertex, in 32-bit floats."""

    start: gp.VertexId

    value = np.float32
    sum = gp.max
    monotone = True

    def init(self, id):
        return float(np.inf) if id == self.start else self.identity

    def frontier(self, id):
        return id == self.start

    def gather(self, src, edge):
        return min(src, edge)


class Seeds(gp.VertexProgram):
    """The seeds within a few steps, a bit each: a user's own relaxation that is not monotone."""

    value = np.uint32
    sum = gp.bitwise_or

    def init(self, id):
        return 1 << id if id < 32 else 0

    def frontier(self, id):
        return id < 32

    def gather(self, src, edge):
        return src if edge > 2 else 0
