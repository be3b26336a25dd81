"""What linked kernels are made of: the instructions of each in PTX, and what the assembler notes of each in a cubin."""

import re
import struct
from typing import NamedTuple

FRAME_SIZE, REGISTERS = 0x11, 0x2F
"""Attributes of a kernel in a cubin's ``.nv.info``, as the CUDA binary utilities name them."""
SYMBOL_TABLE, SYMBOL_BYTES = 2, 24


class Section(NamedTuple):
    """A section's header in an ELF file of 64 bits."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


def instructions(ptx):
    """Instructions without their predicates, a list of lines a kernel."""
    pieces = re.split(r"\.entry\s+(\w+)\(", ptx)
    bodies = zip(pieces[1::2], pieces[2::2], strict=True)
    return {name: [*body_lines(body[: body.index("\n}")])] for name, body in bodies}


def body_lines(body):
    for line in body[body.index("{") + 1 :].splitlines():
        line = re.sub(r"^@!?%p\d+\s+", "", line.strip())
        if line and not line.startswith((".reg", "//", "$", "{", "}")):
            yield line


def operations(lines):
    """What `lines` do, without operands: ``"add.f32"``."""
    return [line.split()[0].rstrip(";") for line in lines]


def doubles(lines):
    return [name for name in operations(lines) if ".f64" in name]


def calls(lines):
    return [line for line in lines if line.startswith("call")]


def locals_of(lines):
    """What uses local memory: device memory in disguise."""
    return [line for line in lines if ".local" in line]


def atomics(lines, space):
    """Atomic operations on ``"shared"`` or ``"global"`` memory: ``"add.f32"``."""
    found = (re.match(rf"(?:atom|red)(?:\.relaxed)?(?:\.gpu|\.cta)?\.{space}\.([\w.]+)", line) for line in lines)
    return [match[1] for match in found if match]


def notes(cubin, attribute):
    """A number that the assembler notes of each function, by the function's name."""
    start, (size, count, names) = struct.unpack_from("<Q", cubin, 40)[0], struct.unpack_from("<HHH", cubin, 58)
    sections = [Section(*struct.unpack_from("<IIQQQQI", cubin, start + k * size)) for k in range(count)]

    def text(table, offset):
        begin = sections[table].offset + offset
        return cubin[begin : cubin.index(b"\0", begin)].decode()

    def symbol(k):
        (offset,) = struct.unpack_from("<I", cubin, symbols.offset + k * SYMBOL_BYTES)
        return text(symbols.link, offset)

    symbols = next(section for section in sections if section.kind == SYMBOL_TABLE)
    info = next(section for section in sections if text(names, section.name) == ".nv.info")
    at, found = info.offset, {}
    while at < info.offset + info.size:
        form, kind, length = struct.unpack_from("<BBH", cubin, at)
        sized = form == 4  # the others have their value in place of the length
        if sized and kind == attribute:
            number, value = struct.unpack_from("<II", cubin, at + 4)
            found[symbol(number)] = value
        at += 4 + (length if sized else 0)
    return found
