"""The engines that push along edge lists on a GPU, EMOGI, EtaGraph, Grus and HyTGraph, and a switch for each technique.

In each superstep of these engines, the vertices of the frontier push along their lists. The engines differ in where the
lists are, how the lists get to the GPU, and how threads divide them (`executor.gpu.settings.ListPush`).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ..errors import ParameterError
from ..executor.decision import Decision
from ..executor.gpu.settings import (
    ACCESSED_BY,
    BY_PRIORITY,
    MANAGED,
    PARTITIONS,
    PREFERRED,
    PREFETCH,
    QUEUE,
    READ_MOSTLY,
    SHADOWS,
    SHARED,
    VERTICES,
    ListPush,
    PartitionPush,
)
from ..executor.modes import COMPACTED, COPIED, GPU, PUSH, RESIDENT, ZERO_COPY
from ..executor.partitions import PartitionCounts, TransferTask
from ..system.arguments import is_count
from ..system.user_files import class_in_file
from .hytgraph import ALPHA, BETA, COMBINED, HYBRID, by_change, choose_transfers, combine_tasks, cut_last
from .observation import Observation
from .policy import POLICIES, AutoPolicy, Policy, check_flags

MOST_DEGREE_LIMIT = 48
"""Maximum number of edges of a shadow vertex: 256 threads with 48 words each fill the 48 KiB of shared memory that
every block may use."""
HINTS = {"ab": ACCESSED_BY, "pf": PREFETCH, "pl": PREFERRED, "rm": READ_MOSTLY}
"""The hints to the driver about managed memory, by Grus's names (Table 1 of the paper)."""
PLACEMENTS = ("grus", "um", *HINTS, "pf+ab", "pf+pl", "pf+rm")
"""Grus's own policy, and the columns of Table 1 of the paper."""
TRAVERSAL_TAU, FULL_TAU = 0.5, 0.8
"""Share of the free memory that Grus fills with edges if not all edges fit: in traversals, and if every vertex is
active at first (Grus section 4.1.2)."""


@dataclass(frozen=True)
class ListPolicy(Policy):
    """Every superstep pushes, on the GPU. If the GPU fails, the CPU goes on by the rules of ``auto``."""

    modes: ClassVar[tuple[str, ...]] = (PUSH,)
    gather: ClassVar[str] = "segmented"
    zero_copy: ClassVar[bool] = False
    name: ClassVar[str]

    @property
    def lists(self) -> ListPush:
        """Where the lists are, and how threads divide them."""
        raise NotImplementedError

    def decide(self, seen: Observation) -> Decision:
        if seen.device != GPU:
            return AutoPolicy().decide(seen)
        first = "every vertex pushes all that it contributes" if seen.deltas and not seen.has_sums else None
        return Decision(PUSH, first or "active vertices push along their lists", GPU)


@dataclass(frozen=True)
class Emogi(ListPolicy):
    """EMOGI (Min et al., VLDB 2020): kernels read the lists in the host's pinned memory, in lines of 128 bytes.

    Parameters
    ----------
    merge : bool
        A warp has a list, so that its threads' reads become one request (section 4.3.1). False: a thread has a list,
        the paper's *Naive*.
    align : bool
        A warp begins at the last multiple of 128 bytes before its list (section 4.3.2). False, without `split`: the
        paper's *Merged*.
    element_bytes : {4, 8}
        Bytes of a target in memory. The paper has 8.
    unified : bool
        The lists are in unified memory, which the driver is told is mostly read: the paper's baseline *UVM*.
    split : bool
        Beyond the paper: a list of 512 edges or more is split into pieces, with a warp each. False: a warp takes the
        longest list, too, for which all others wait.
    listed : bool
        Beyond the paper: active vertices are listed first, so that a superstep takes no time for the others.
    shared : bool
        Beyond the paper: the lists of several vertices with few edges share a warp. Needs ``listed``. Warps begin
        longer lists at a multiple of 32 edges, whatever ``align`` is.
    """

    merge: bool = True
    align: bool = True
    element_bytes: int = 4
    unified: bool = False
    split: bool = True
    listed: bool = False
    shared: bool = False

    name: ClassVar[str] = "emogi"

    def __post_init__(self) -> None:
        check_flags(self)
        if not is_count(self.element_bytes) or self.element_bytes not in (4, 8):
            raise ParameterError(f"emogi: element_bytes={self.element_bytes!r}: give a whole number, 4 or 8")
        object.__setattr__(self, "element_bytes", int(self.element_bytes))  # such as one of NumPy's
        if self.align and not self.merge:
            object.__setattr__(self, "align", False)  # a thread has nothing to align
        if self.shared and (not (self.listed and self.merge) or self.unified or self.element_bytes != 4):
            raise ParameterError("emogi: shared=True needs listed=True, merge=True, element_bytes=4 and unified=False")
        if self.listed and not self.merge:
            raise ParameterError("emogi: listed=True needs merge=True: a warp takes each vertex of the list")

    @property
    def lists(self) -> ListPush:
        return ListPush(
            where=MANAGED if self.unified else ZERO_COPY,
            division=SHARED if self.shared else QUEUE if self.listed else VERTICES,
            thread_each=not self.merge,
            splits=self.split and self.merge,
            aligns=self.align,
            element_bytes=self.element_bytes,
            hints=(READ_MOSTLY,) if self.unified else (),
        )


@dataclass(frozen=True)
class EtaGraph(ListPolicy):
    """EtaGraph (Wang et al., IPDPS 2019): lists are cut into shadow vertices of few edges, a thread each.

    Parameters
    ----------
    degree_limit : int
        Most edges of a shadow vertex, K: 1 to 48; the paper's Table I has 10.
    smp : bool
        Threads first fetch all their neighbours to shared memory (section V).
    um : bool
        The lists are in unified memory (section IV-B). False: they are copied to the GPU's memory.
    prefetch : bool
        The driver moves the lists to the GPU ahead of the run. False: the paper's *EtaGraph w/o UMP*.
    """

    degree_limit: int = 10
    smp: bool = True
    um: bool = True
    prefetch: bool = True

    name: ClassVar[str] = "etagraph"

    def __post_init__(self) -> None:
        check_flags(self)
        limit = self.degree_limit
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_DEGREE_LIMIT:
            raise ParameterError(f"etagraph: degree_limit={limit!r}: give a whole number from 1 to {MOST_DEGREE_LIMIT}")

    @property
    def lists(self) -> ListPush:
        return ListPush(
            where=MANAGED if self.um else RESIDENT,
            division=SHADOWS,
            degree_limit=self.degree_limit,
            prefetches=self.smp,
            hints=(PREFETCH,) if self.um and self.prefetch else (),
        )


@dataclass(frozen=True)
class Grus(ListPolicy):
    """Grus (Wang et al., TACO 2021): lists in unified memory by priority, and a bitmap-directed frontier.

    The data with a higher priority than edges (the vertices' values, offsets and frontier) is always in the GPU's own
    memory.

    Parameters
    ----------
    placement : str
        ``"grus"``: Algorithm 1. If the lists fit the GPU's memory, they are moved there ahead; if not, a part is, and
        the GPU reads the others where they are. The others are the columns of Table 1: ``"um"`` (no hint), ``"pf"``
        (moved ahead), ``"ab"`` (accessed by the GPU), ``"pl"`` (preferred location), ``"rm"`` (read mostly), and
        ``"pf+ab"``, ``"pf+pl"``, ``"pf+rm"``.
    tau : float, optional
        Share of the GPU's free memory that is filled with edges if not all fit; by default 0.5 for traversals, and 0.8
        if all vertices are active at first.
    split : bool
        Beyond the paper: a list of 512 edges or more is split into pieces, with a warp each.
    byte_map : bool
        A push marks what it changes in a map of bytes, without atomics, from which the frontier is made. False: it
        marks bits, with atomics.
    """

    placement: str = "grus"
    tau: float | None = None
    split: bool = True
    byte_map: bool = True

    name: ClassVar[str] = "grus"

    def __post_init__(self) -> None:
        check_flags(self)
        if self.placement not in PLACEMENTS:
            raise ParameterError(f"grus: placement={self.placement!r}: choose from {', '.join(PLACEMENTS)}")
        is_number = isinstance(self.tau, (int, float)) and not isinstance(self.tau, bool)
        if self.tau is not None and not (is_number and 0 < self.tau <= 1):
            raise ParameterError(f"grus: tau={self.tau!r}: give a number above 0, at most 1")

    @property
    def lists(self) -> ListPush:
        hints = tuple(HINTS[name] for name in self.placement.split("+") if name in HINTS)
        return ListPush(
            where=MANAGED,
            division=QUEUE,
            splits=self.split,
            byte_map=self.byte_map,
            hints=(BY_PRIORITY,) if self.placement == "grus" else hints,
            taus=(self.tau or TRAVERSAL_TAU, self.tau or FULL_TAU),
        )


TRANSFERS = {"hybrid": HYBRID} | {way: (way,) for way in (COPIED, COMPACTED, ZERO_COPY, MANAGED)}
"""The ways among which HyTGraph chooses, by the value of its switch."""
LEAST_PARTITION_BYTES = 1 << 10
"""Minimum of bytes in a partition: with fewer, partitions would have only a few vertices."""


@dataclass(frozen=True)
class HyTGraph(ListPolicy):
    """HyTGraph (Wang et al., ICDE 2023): for each partition, the cheapest way for its edges to reach the GPU.

    A partition is copied as a whole, its active vertices' lists are compacted by the CPU and then copied, or kernels
    read them where they are. Before each superstep, costs are computed from what the GPU has counted, by equations 1 to
    3. Hubs come first if the graph is in hub order (``garaph import --order hub``).

    Parameters
    ----------
    transfers : {"hybrid", "copied", "compacted", "zero-copy", "unified"}
        ``"hybrid"``: what Algorithm 1 chooses. The others are the paper's *ExpTM-filter*, *ExpTM-compaction*,
        *ImpTM-zero-copy* and *ImpTM-unified-memory*, in which all partitions go one way.
    partition_bytes : int
        Bytes of a partition's edges at most, unless 32 vertices have more (section V-B).
    combine : bool
        A task copies up to four adjacent partitions (section V-B), but for the last of them in a superstep, which are
        tasks of their own. False: each is one.
    recompute : bool
        What is copied is processed once more, for vertices that have changed since (section VI-A), in asynchronous
        runs; and if vertices push deltas, these are applied after each task.
    priority : bool
        If vertices push deltas, partitions whose deltas are large come first (section VI-A).
    overlap : bool
        Partitions are copied while kernels process others (section VI-B). False: one after another.
    topology : bool
        Kernels look at all vertices of a partition that is copied (section VI-C, after SEP-Graph). False: its active
        vertices are listed first, as those of the others always are.
    split : bool
        A list of 512 edges or more is split into pieces, with a warp each (section VI-C, CTA scheduling).
    byte_map : bool
        A push marks what it changes in a map of bytes, without atomics (section VI-C, after Grus).
    keep : bool
        Beyond the paper: the partitions that are needed most stay in the GPU's memory, as many as fit beside the
        buffers. False: nothing stays from one iteration to the next.
    alpha, beta : float
        A partition is compacted if that costs less than ``alpha`` times a copy and less than ``beta`` times zero copy
        (section V-A).
    """

    transfers: str = "hybrid"
    partition_bytes: int = 32 << 20
    combine: bool = True
    recompute: bool = True
    priority: bool = True
    overlap: bool = True
    topology: bool = True
    split: bool = True
    byte_map: bool = True
    keep: bool = False
    alpha: float = ALPHA
    beta: float = BETA

    name: ClassVar[str] = "hytgraph"

    def __post_init__(self) -> None:
        check_flags(self)
        if self.transfers not in TRANSFERS:
            raise ParameterError(f"hytgraph: transfers={self.transfers!r}: choose from {', '.join(TRANSFERS)}")
        nbytes = self.partition_bytes
        if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < LEAST_PARTITION_BYTES:
            raise ParameterError(
                f"hytgraph: partition_bytes={nbytes!r}: give a whole number of bytes, {LEAST_PARTITION_BYTES} or more"
            )
        for name in ("alpha", "beta"):
            part = getattr(self, name)
            if isinstance(part, bool) or not isinstance(part, (int, float)) or not 0 <= part < math.inf:
                raise ParameterError(f"hytgraph: {name}={part!r}: give a number, 0 or more")
        if self.keep and MANAGED in self.ways:
            raise ParameterError(
                "hytgraph: keep=True has no effect with transfers='unified', where the driver decides what stays on "
                "the GPU; leave one of them out"
            )

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways among which it chooses."""
        return TRANSFERS[self.transfers]

    @property
    def combined(self) -> int:
        """Adjacent partitions of a task at most."""
        return COMBINED if self.combine else 1

    @property
    def lists(self) -> ListPush:
        partitions = PartitionPush(
            plan=self.plan, ways=self.ways, nbytes=self.partition_bytes, combined=self.combined,
            recomputes=self.recompute, overlaps=self.overlap, looks_at_all=self.topology, keeps=self.keep,
        )  # fmt: skip
        where = MANAGED if MANAGED in self.ways else ZERO_COPY
        return ListPush(
            where=where, division=PARTITIONS, splits=self.split, aligns=True, byte_map=self.byte_map,
            partitions=partitions,
        )  # fmt: skip

    def plan(self, counts: PartitionCounts) -> list[TransferTask]:
        """The tasks of a superstep, in their order (Algorithm 1)."""
        tasks = combine_tasks(choose_transfers(counts, self.ways, self.alpha, self.beta), self.combined)
        return cut_last(by_change(tasks, counts) if self.priority else tasks)


SUFFIX = ".py"
"""Suffix by which a name is that of a file."""


def engine_of(text: str, folder: Path | None = None) -> Policy:
    """The engine that `text` names: a name, or one followed by switches, as in ``"emogi:align=no,element_bytes=8"``.

    A name may be ``"file.py:ClassName"``, for a `Policy` of the user's own. The file is run once; its path is relative
    to `folder`.

    Raises
    ------
    ParameterError
    ProgramError
        If the file fails when it is run.
    """
    if text in POLICIES and (folder is None or not is_in_file(text)):
        return POLICIES[text]
    file, is_file, rest = text.partition(f"{SUFFIX}:")
    name, _, switches = (rest if is_file else text).partition(":")
    if is_file:
        name = register_file(f"{file}{SUFFIX}", name, folder or Path())
    if name not in POLICIES:
        if text.endswith(SUFFIX):
            raise ParameterError(f"engine={text!r}: name the policy's class, too: {text}:ClassName")
        raise ParameterError(
            f"engine={text!r}: choose from {own_names()}, or write file.py:ClassName for a policy of your own"
        )
    return with_switches(POLICIES[name], switches, f"engine={text!r}: ", name) if switches else POLICIES[name]


def register_file(file: str, kind: str, folder: Path) -> str:
    """Register the policy of this class in a file, whose path is relative to `folder`; return its name."""
    path, name = folder / file, f"{file}:{kind}"
    place = f"{path.resolve()}:{kind}"
    if place not in POLICIES:
        POLICIES[place] = made(class_in_file(str(path), kind, Policy, "policy"), name)
    POLICIES[name] = POLICIES[place]
    return name


def with_switches(engine: Policy, switches: str, where: str, name: str) -> Policy:
    """An engine with these switches, such as ``"align=no,element_bytes=8"``; error messages begin with `where`."""
    defaults = {field.name: field.default for field in switches_of(engine)}
    given: dict[str, object] = {}
    for switch in switches.split(","):
        key, _, value = (part.strip() for part in switch.partition("="))
        if key not in defaults:
            known = f"has the switches {', '.join(defaults)}" if defaults else "has no switches"
            raise ParameterError(f"{where}{name} {known}, not {key!r}")
        if key in given:
            raise ParameterError(f"{where}{key} is given twice; leave one out")
        given[key] = parsed(value, defaults[key], where + key)
    return replace(engine, **given)  # type: ignore[type-var]


def is_in_file(text: str) -> bool:
    """Whether the text that names an engine is that of a class in a file."""
    return f"{SUFFIX}:" in text


def class_of(text: str) -> str:
    """The name of a policy's class, from the text that names the policy; by default, a policy has this name."""
    before, _, after = text.partition(f"{SUFFIX}:")
    return re.split("[:#]", after or before)[0]


def made(kind: type[Policy], name: str) -> Policy:
    """An instance of a policy's class without arguments."""
    try:
        return kind()
    except TypeError as error:
        raise ParameterError(f"engine={name!r}: {error}; give all its parameters defaults") from None


def own_names() -> str:
    """The names of the package's engines, for messages."""
    return ", ".join(engine.name for engine in ENGINES)


def register(policy: Policy) -> str:
    """Register a user's policy in this process; return the text from which `engine_of` makes it.

    Raises
    ------
    ParameterError
        If an engine of the package has the same name.
    """
    if any(type(policy) is not type(own) and policy.name == own.name for own in ENGINES):
        raise ParameterError(
            f"engine={policy!r}: {policy.name!r} is an engine of garaph_py; give the class another name"
        )
    first = text = text_of(policy)
    others = itertools.count(2)
    while text in POLICIES and not are_same(POLICIES[text], policy):
        text = f"{first}#{next(others)}"
    POLICIES.setdefault(text, policy)
    if policy.name not in POLICIES:  # others may be named by their switches
        with contextlib.suppress(Exception):  # some parameters have no defaults
            POLICIES[policy.name] = type(policy)()
    return text


def are_same(one: Policy, other: Policy) -> bool:
    """Whether two policies decide alike, as far as their attributes say."""
    try:
        return one is other or (type(one) is type(other) and bool(vars(one) == vars(other)))
    except Exception:  # attributes that cannot be compared as a whole, such as arrays
        return False


def engine_name(engine: object) -> str:
    """The text that names an engine, which `engine` is or names.

    Raises
    ------
    ParameterError
    """
    if isinstance(engine, str):
        engine_of(engine)
        return engine
    if isinstance(engine, type) and issubclass(engine, Policy):
        raise ParameterError(f"engine={engine.__name__} is a class; give an instance: engine={engine.__name__}()")
    if not isinstance(engine, Policy):
        raise ParameterError(f"engine={engine!r}: choose from {own_names()}, or give a gp.Policy of your own")
    return register(engine)


def switches_of(engine: Policy) -> tuple[Field[Any], ...]:
    """The switches of an engine: its fields with a default. A user's policy may have none."""
    every: tuple[Field[Any], ...] = fields(engine) if is_dataclass(engine) else ()
    return tuple(field for field in every if field.init and field.default is not MISSING)


def parsed(text: str, default: object, what: str) -> object:
    """The value that `text` gives a switch with this `default`."""
    words = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
    try:
        if isinstance(default, bool):
            return words[text.lower()]
        if isinstance(default, str):
            return text
        return float(text) if default is None or isinstance(default, float) else int(text)
    except (KeyError, ValueError):
        wanted = "yes or no" if isinstance(default, bool) else "a number"
        raise ParameterError(f"{what}={text!r}: give {wanted}") from None


def text_of(engine: Policy) -> str:
    """The text that names an engine: `engine_of` makes the same engine from it."""
    switches = [
        f"{field.name}={getattr(engine, field.name)}"
        for field in switches_of(engine)
        if isinstance(getattr(engine, field.name), (bool, int, float, str))
        and getattr(engine, field.name) != field.default
    ]
    return f"{engine.name}:{','.join(switches)}" if switches else engine.name


ENGINES = (*POLICIES.values(), Emogi(), EtaGraph(), Grus(), HyTGraph())
"""The engines of the package."""
POLICIES |= {engine.name: engine for engine in ENGINES}
