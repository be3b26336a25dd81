"""`join`: the measurements of one spec that several machines have made, in one folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import FormatError, ParameterError
from ..io.formats.format import malformed
from .kinds import Row
from .measure import MACHINES, begin, check_same, summarized, write_text
from .plots import draw
from .spec import MACHINE, RESULTS, Spec
from .tables import Tables

RESTORE = "restore the file that the experiment has written"


def join(spec: Spec, folders: Sequence[Path], out: Path) -> list[Row]:
    """Write the measurements in `folders` to the new folder `out`, with the plots of all, and machines.json.

    The column ``machine`` tells them apart; of machines that are described alike, each has the name of its folder, too.

    Returns
    -------
    list of dict
        The rows of the results.

    Raises
    ------
    ParameterError
        If there are fewer than two folders, one of them has another spec, or `out` is there already.
    FormatError
        If a file in a folder is missing or damaged.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), 2):
        raise ParameterError("joining takes two folders or more, each once; name the folder of each machine")
    found = [measured(spec, folder) for folder in folders]
    alike = Counter(name for name, _, _ in found)
    tables, machines = Tables(spec, out), dict[str, Any]()
    for folder, (name, described, own) in zip(folders, found, strict=True):
        full = f"{name} ({folder})" if alike[name] > 1 else name
        machines[full] = described
        for table, rows in own.rows.items():
            tables.rows[table] += [row | {MACHINE: full} for row in rows]
    begin(spec, out)
    write_text(out / MACHINES, json.dumps(machines, indent=1, allow_nan=False).encode())
    tables.save()
    draw(spec, tables.rows, out)
    return tables.rows[RESULTS]


def measured(spec: Spec, folder: Path) -> tuple[str, Any, Tables]:
    """The name of the machine that made the measurements in a folder, its description, and the measurements."""
    check_same(spec, folder, "has no experiment; name a folder that `garaph experiment` has written")
    path, tables = folder / "machine.json", Tables(spec, folder)
    tables.load()
    if not path.exists():
        raise FormatError(path, f"is missing; {RESTORE}")
    with malformed(path, f"does not describe a machine; {RESTORE}"):
        described = json.loads(path.read_bytes())
        return summarized(described), described, tables
