"""Structures in Thrift's compact protocol, in which Parquet files have their footer and the headers of their pages.

A shape says what to read of a structure, and all else is passed over: it is `int`, `bytes`, a list that holds the shape
of a list's items, or the shapes of a structure's fields by their numbers. Values of other types than the shape says are
passed over too. Damage raises `IndexError`.
"""

from __future__ import annotations

from typing import Any

from .windows import varying

BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""The types of values. Maps are not among them: nothing in Parquet has one."""
DEEPEST = 64
"""Most structures and lists in one another, as in Thrift's own library; more is damage."""

Shape = type | list[Any] | dict[int, Any] | None


def struct_fields(data: bytes, place: int, shape: dict[int, Any], depth: int = DEEPEST) -> tuple[dict[int, Any], int]:
    """The fields that `shape` names of a structure at a place, by their numbers, and the place behind it."""
    fields: dict[int, Any] = {}
    field = 0
    while data[place]:
        kind, step = data[place] & 15, data[place] >> 4
        place += 1
        if step:
            field += step
        else:
            field, place = signed(data, place)
        if kind not in BOOLEANS:  # the type is the value
            value, place = value_at(data, place, kind, shape.get(field), depth)
            if value is not None:
                fields[field] = value
    return fields, place + 1


def value_at(data: bytes, place: int, kind: int, shape: Shape, depth: int) -> tuple[Any, int]:
    """The value of a type at a place, None if its shape is another, and the place behind it."""
    if kind in INTEGERS:
        number, place = signed(data, place)
        return number if shape is int else None, place
    if kind == BINARY:
        count, place = varying(data, place)
        return data[place : place + count] if shape is bytes else None, place + count
    if kind == STRUCT or kind in LISTS:
        if not depth:
            raise IndexError("nested too deeply")
        if kind in LISTS:
            return list_items(data, place, shape, depth - 1)
        fields, place = struct_fields(data, place, shape if isinstance(shape, dict) else {}, depth - 1)
        return fields if isinstance(shape, dict) else None, place
    return None, place + {BYTE: 1, DOUBLE: 8}.get(kind, len(data))


def list_items(data: bytes, place: int, shape: Shape, depth: int) -> tuple[list[Any] | None, int]:
    """The items of a list at a place, None if its shape is another, and the place behind it."""
    items: list[Any] = []
    of = shape[0] if isinstance(shape, list) else None
    count, kind = data[place] >> 4, data[place] & 15
    place += 1
    if count == 15:
        count, place = varying(data, place)
    for _ in range(count):
        if place >= len(data):  # a damaged count may be 2**63
            raise IndexError("a list goes on behind the end")
        item, place = (None, place + 1) if kind in BOOLEANS else value_at(data, place, kind, of, depth)
        if item is not None:
            items.append(item)
    return items if isinstance(shape, list) else None, place


def signed(data: bytes, place: int) -> tuple[int, int]:
    """A signed integer, which is stored so that small ones are short; and the place behind it."""
    if place >= len(data):
        raise IndexError("an integer behind the end")
    number, place = varying(data, place)
    return (number >> 1) ^ -(number & 1), place
