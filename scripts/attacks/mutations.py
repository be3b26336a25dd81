"""What `fuzz` does to valid files: accidents and attacks."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

HUGE = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**48, 2**48 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


ODD = (None, True, False, -1, 0.5, 1e308, "", "\0", [], {}, *HUGE)
"""Values for a place in a JSON or TOML document, beside those that it has elsewhere."""


def mutated(name: str, data: bytes, others: list[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytes:
    """The part `name` of a file, `data`, after one to four accidents or attacks.

    Parameters
    ----------
    others : list of bytes
        Parts of other files.
    tokens : sequence of bytes
        Words that mean something to the reader; may be empty.
    """
    codec = DOCUMENTS.get(name.rpartition(".")[2])
    for _ in range(rng.choice((1, 1, 2, 4))):
        if codec is not None and rng.random() < 0.5:
            data = change_document(data, codec, tokens, rng)
        elif tokens and rng.random() < 0.2:
            place, token = place_in(data, rng), rng.choice(tokens)
            data = data[:place] + token + data[place + rng.choice((0, len(token))) :]
        else:
            data = rng.choice(MUTATIONS)(data, others, rng)
    return data


def change_document(data: bytes, codec: Codec, tokens: Sequence[bytes], rng: random.Random) -> bytes:
    """Set, add or remove one value of a document, somewhere; unchanged if it is none."""
    read, write = codec
    try:
        document = read(data)
        places = places_of(document)
        holder, key = rng.choice(places)
        action = rng.randrange(5)
        if action == 0:
            del holder[key]
        elif action == 1 and isinstance(holder, dict):
            holder[rng.choice(tokens).decode() if tokens else "more"] = holder[key]
        elif action == 2 and isinstance(holder, list):
            holder.append(holder[key])
        else:
            there, at = rng.choice(places)
            holder[key] = rng.choice((rng.choice(ODD), there[at], rng.choice(tokens).decode() if tokens else "x"))
        return write(document)
    except (ValueError, IndexError, RecursionError, TypeError):  # not a document, or one that cannot be written
        return data


def places_of(document: Any) -> list[tuple[Any, Any]]:
    """All members of a document, as pairs of a dictionary or list and a key."""
    places, holders = [], [document]
    for holder in holders:
        for key in holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ():
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                holders.append(holder[key])
    return places


def toml(value: Any) -> str:
    """A value in TOML, written in one line; what TOML lacks becomes text."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {toml(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value if isinstance(value, str | int | float) else str(value))


Codec = tuple[Callable[[bytes], Any], Callable[[Any], bytes]]
DOCUMENTS: dict[str, Codec] = {
    "json": (json.loads, lambda document: json.dumps(document).encode()),
    "toml": (
        lambda data: tomllib.loads(data.decode()),
        lambda document: "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items()).encode(),
    ),
}
"""How the parts whose names end so are read and written."""


def flip_bits(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    place, count = place_in(data, rng), rng.choice((1, 1, 2, 4, 8, 64))
    return data[:place] + bytes([rng.choice(b"\x00\x01\x7f\x80\xff \n\t-0%#")]) * count + data[place + count :]


def truncate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    return data[: place_in(data, rng)]


def splice(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A piece of this file or another one, put in or over what is there."""
    donor = rng.choice([data, *others])
    piece = donor[place_in(donor, rng) :][: rng.choice((1, 8, 64, 1024))]
    place = place_in(data, rng)
    return data[:place] + piece + data[place + rng.choice((0, len(piece))) :]


def delete(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    place = place_in(data, rng)
    return data[:place] + data[place + rng.choice((1, 4, 8, 64)) :]


def huge_integer(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A count, an offset or an id, where binary formats have them."""
    width, early = rng.choice((4, 8)), rng.random() < 0.5
    place = place_in(data[:64] if early else data, rng)
    place -= place % rng.choice((1, 4, 8))
    return data[:place] + (rng.choice(HUGE) % (1 << 8 * width)).to_bytes(width, "little") + data[place + width :]


def huge_decimal(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The same, where text has them: the digits after some place."""
    place = place_in(data[:200] if rng.random() < 0.5 else data, rng)
    while place < len(data) and not data[place : place + 1].isdigit():
        place += 1
    end = place
    while end < len(data) and data[end : end + 1].isdigit():
        end += 1
    return data[:place] + rng.choice((b"%d" % rng.choice(HUGE), b"-1", b"1e999", b"9" * 400, b"nan")) + data[end:]


def random_bytes(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Noise after the beginning, or nothing else."""
    return data[: rng.choice((0, 4, 8, 17, 32))] + rng.randbytes(rng.choice((0, 1, 16, 300)))


def place_in(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


MUTATIONS = (flip_bits, set_bytes, truncate, splice, delete, huge_integer, huge_decimal, random_bytes)
