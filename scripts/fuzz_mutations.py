"""What `fuzz.py` does to valid files: accidents and attacks."""

from __future__ import annotations

import random

HUGE = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**48, 2**48 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """`data` after one to four accidents or attacks."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(data, others, rng)
    return data


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
