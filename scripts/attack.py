"""Does anything lose an answer, give a wrong one, run away with the memory, or end in a traceback?

Attacks garaph_py as a hostile neighbour, a full disk, a loss of power and a mean file would, for some minutes, and adds
what came out to a file of tallies. Later runs go on with other seeds, so that small budgets add up.

    python scripts/attack.py --minutes 60 --tallies attacks.json
    python scripts/attack.py kills --seed 4711 --rounds 1
    python scripts/attack.py --tallies attacks.json --show
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import attacks

FOLDER_PREFIX = "garaph-attack-"
Tallies = dict[str, dict[str, Any]]


def read_tallies(path: Path | None) -> Tallies:
    """The tallies of earlier runs, by the attack's name."""
    return json.loads(path.read_text()) if path is not None and path.exists() else {}


def write_tallies(path: Path | None, tallies: Tallies) -> None:
    if path is not None:
        partial = path.with_name(path.name + ".partial")
        partial.write_text(json.dumps(tallies, indent=1, sort_keys=True) + "\n")
        partial.replace(path)


def add(tallies: Tallies, name: str, seed: int, seconds: float, outcome: attacks.Outcome) -> None:
    """Add the outcome of a round to the tallies."""
    tally = tallies.setdefault(name, {"rounds": 0, "seconds": 0, "next seed": 0, "counts": {}, "problems": []})
    today = date.today().isoformat()
    tally["rounds"] += 1
    tally["seconds"] = round(tally["seconds"] + seconds, 1)
    tally["next seed"] = max(tally["next seed"], seed + 1)
    tally["counts"] = dict(Counter(tally["counts"]) + outcome.counts)
    tally["problems"] += [f"seed {seed}: {problem}" for problem in outcome.problems]
    tally["first"], tally["last"] = tally.get("first", today), today


def one_round(name: str, seed: int) -> attacks.Outcome:
    attack: attacks.Attack = importlib.import_module(f"attacks.{name}").attack
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
        return attack(seed, Path(folder))


def show(tallies: Tallies) -> None:
    for name, tally in tallies.items():
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(tally["counts"].items()))
        problems = len(tally["problems"])
        print(f"{name}: {tally['rounds']:,} rounds in {tally['seconds']:,.0f} s, {tally['first']} to {tally['last']}: "
              f"{counts or 'nothing counted'}; {problems} problems")  # fmt: skip
        for problem in tally["problems"]:
            print(f"  {problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *attacks.NAMES], help="attacks; all by default")
    parser.add_argument("--minutes", type=float, help="share them between the attacks")
    parser.add_argument("--rounds", type=int, help="of each attack, instead of --minutes; 1 by default")
    parser.add_argument("--seed", type=int, help="of the first round, instead of the one after the tallies'")
    parser.add_argument("--tallies", type=Path, help="a JSON file that adds up")
    parser.add_argument("--show", action="store_true", help="only print the tallies")
    given = parser.parse_args()
    tallies, names, found = read_tallies(given.tallies), given.names or attacks.NAMES, 0
    for name in () if given.show else names:
        seed = tallies.get(name, {}).get("next seed", 0) if given.seed is None else given.seed
        began, done = time.monotonic(), 0
        while done < (given.rounds or 1) or (given.rounds is None and ends_later(given.minutes, names, began)):
            started = time.monotonic()
            outcome = one_round(name, seed)
            for problem in outcome.problems:
                print(f"{name}, seed {seed}: {problem}", flush=True)
            add(tallies, name, seed, time.monotonic() - started, outcome)
            write_tallies(given.tallies, tallies)
            found += len(outcome.problems)
            seed, done = seed + 1, done + 1
    show(tallies)
    sys.exit(found > 0)


def ends_later(minutes: float | None, names: tuple[str, ...], began: float) -> bool:
    """Whether an attack that began then has time left of its share of `minutes`."""
    return minutes is not None and time.monotonic() - began < minutes * 60 / len(names)


if __name__ == "__main__":
    main()
