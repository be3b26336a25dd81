"""What is read of structures in Thrift's compact protocol, and that damage ends with the data."""

import pytest

from garaph_py.io.formats.thrift import DEEPEST, struct_fields

STRUCTURE = bytes.fromhex(
    "15 04"  # field 1: 2, an integer
    "18 03 616263"  # field 2: abc
    "39 25 01 02"  # field 5: a list of integers: -1, 1
    "1c 16 0e 00"  # field 6: a structure, field 1 of it: 7
    "11 12"  # fields 7 and 8: true, false
    "17 0000000000000000"  # field 9: a double
    "13 05"  # field 10: a byte
    "06 50 ac02"  # field 40, its number in full: 150
    "00"
)
SHAPE = {1: int, 2: bytes, 5: [int], 6: {1: int}, 40: int}


def test_fields_of_a_shape():
    assert struct_fields(STRUCTURE, 0, SHAPE) == ({1: 2, 2: b"abc", 5: [-1, 1], 6: {1: 7}, 40: 150}, len(STRUCTURE))
    assert struct_fields(b"\0" + STRUCTURE, 1, {40: int}) == ({40: 150}, len(STRUCTURE) + 1)


def test_values_of_another_type_are_passed_over():
    wrong = {1: bytes, 2: int, 5: {1: int}, 6: [int], 7: int, 9: int, 10: int, 40: int}
    assert struct_fields(STRUCTURE, 0, wrong) == ({40: 150}, len(STRUCTURE))
    assert struct_fields(STRUCTURE, 0, {5: [bytes]}) == ({5: []}, len(STRUCTURE))


@pytest.mark.parametrize("of", ["1", "2", "3"], ids=["true", "false", "byte"])
def test_lists_of_single_bytes(of):
    structure = bytes.fromhex(f"19 2{of} 01 02 15 04 00")
    assert struct_fields(structure, 0, {1: [int], 2: int}) == ({1: [], 2: 2}, len(structure))


@pytest.mark.parametrize("length", range(len(STRUCTURE)))
def test_a_structure_that_was_cut(length):
    with pytest.raises(IndexError):
        struct_fields(STRUCTURE[:length], 0, SHAPE)


@pytest.mark.spread
@pytest.mark.parametrize("shape", [{}, {1: [int]}, {1: {1: int}}])
@pytest.mark.parametrize("of", range(16))
def test_counts_and_depths_that_are_too_large(of, shape):
    many = b"\xff" * 8 + b"\x7f"
    for data in (bytes([0x19, 0xF0 | of]) + many, b"\x18" + many, b"\x1b" + many + bytes(9), bytes([0x10 | of]) * 9999):
        with pytest.raises(IndexError):
            struct_fields(data, 0, shape)


def test_the_deepest_structure():
    assert struct_fields(b"\x1c" * DEEPEST + bytes(DEEPEST + 1), 0, {}) == ({}, 2 * DEEPEST + 1)
    assert struct_fields(b"\x19\x19" * 1 + b"\x19" * (DEEPEST - 2) + b"\x05\x00", 0, {}) == ({}, DEEPEST + 2)
    for nested in (b"\x1c" * (DEEPEST + 1) + bytes(DEEPEST + 2), b"\x19" * (DEEPEST + 1) + b"\x05\x00"):
        with pytest.raises(IndexError, match="nested too deeply"):
            struct_fields(nested, 0, {})
