"""Numba intrinsics that emit LLVM IR for the functions of `intrinsics` and for reading a kernel's arguments."""

from __future__ import annotations

import platform
import time
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types as nb
from numba.core import cgutils
from numba.np.arrayobj import make_array, populate_array

from . import intrinsics

WORD, NUMBER = ir.IntType(64), ir.IntType(32)
"""LLVM's types for a word of an argument row or a job, and for packed numbers."""
LINE_BYTES = 64
"""Bytes in a cache line of x86-64, and of most other processors."""
MOST_ITEMS = 1 << 40
"""The length that an array of structures has in compiled code, which checks no index."""
SCALARS = {
    "i8": nb.int8, "u8": nb.uint8, "i16": nb.int16, "u16": nb.uint16, "i32": nb.int32, "u32": nb.uint32,
    "i64": nb.int64, "u64": nb.uint64, "f32": nb.float32, "f64": nb.float64, "bool": nb.boolean,
}  # fmt: skip
"""Numba's types by their names in signatures."""


def argument_type(name: str) -> Any:
    """The Numba type of an argument, which a signature writes as `name`: ``"i64"``, ``"f32*"``, ``"void*"``."""
    if name == "void*":
        return nb.voidptr
    return nb.CPointer(SCALARS[name[:-1]]) if name.endswith("*") else SCALARS[name]


@cache
def loader(signature: tuple[str, ...]) -> Any:
    """A function ``load(row)`` that reads arguments of these types from a row of 64-bit words; it returns a tuple."""
    returned = nb.Tuple([argument_type(name) for name in signature])

    @numba.extending.intrinsic
    def load(typing_context: Any, row: Any) -> Any:
        def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            def argument(k: int, name: str) -> Any:
                word = builder.load(element(builder, (arguments[0], WORD(k)), WORD), typ=WORD)
                kind = context.get_value_type(returned[k])
                if name.endswith("*"):
                    return builder.inttoptr(word, kind)
                if name == "f64":
                    return builder.bitcast(word, kind)
                return builder.trunc(word, kind) if kind != WORD else word

            return context.make_tuple(builder, returned, [argument(*item) for item in enumerate(signature)])

        return returned(row), emit

    return load


def element(builder: Any, arguments: Any, kind: Any) -> Any:
    """The address of element ``arguments[1]`` of the array at the pointer ``arguments[0]``."""
    return builder.gep(arguments[0], [arguments[1]], source_etype=kind)


def read_modify_write(operation: str, word: Any) -> Any:
    """The atomic `operation` of LLVM on elements of Numba's type `word`."""

    @numba.extending.intrinsic
    def atomic(typing_context: Any, words: Any, index: Any, operand: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.atomic_rmw(operation, element(builder, arguments, WORD), arguments[2], "seq_cst")

        return word(words, nb.int64, word), emit

    return atomic


@numba.extending.intrinsic
def _atomic_load(typing_context: Any, words: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(element(builder, arguments, WORD), "seq_cst", 8, typ=WORD)

    return words.dtype(words, nb.int64), emit


@numba.extending.intrinsic
def _atomic_store(typing_context: Any, words: Any, index: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], element(builder, arguments, WORD), "seq_cst", 8)
        return context.get_dummy_value()

    return nb.void(words, nb.int64, nb.int64), emit


@numba.extending.intrinsic
def _compare_and_swap(typing_context: Any, values: Any, index: Any, old: Any, new: Any) -> Any:
    kind = values.dtype

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(kind.bitwidth)
        address = builder.bitcast(element(builder, arguments, context.get_value_type(kind)), word.as_pointer())
        old_bits, new_bits = (builder.bitcast(value, word) for value in arguments[2:])
        swapped = builder.cmpxchg(address, old_bits, new_bits, "seq_cst", "seq_cst")
        return builder.extract_value(swapped, 1)

    return nb.boolean(values, nb.int64, kind, kind), emit


@numba.extending.intrinsic
def _pause(typing_context: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", fnty=kind), [])
        return context.get_dummy_value()

    return nb.void(), emit


def of_semaphore(name: str) -> Any:
    """The function `name` of the C library, which takes the address of a semaphore."""

    @numba.extending.intrinsic
    def act(typing_context: Any, words: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(NUMBER, [WORD.as_pointer()])
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.sext(builder.call(function, [element(builder, arguments, WORD)]), WORD)

        return nb.int64(words, nb.int64), emit

    return act


@numba.extending.intrinsic
def _clock(typing_context: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(NUMBER, [NUMBER, WORD.as_pointer()])
        read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        seconds = cgutils.alloca_once(builder, WORD, 2)  # a struct timespec: seconds and nanoseconds
        builder.call(read, [NUMBER(time.CLOCK_MONOTONIC), seconds])
        whole = builder.mul(builder.load(seconds, typ=WORD), WORD(1_000_000_000))
        return builder.add(whole, builder.load(builder.gep(seconds, [WORD(1)], source_etype=WORD), typ=WORD))

    return nb.int64(), emit


@numba.extending.intrinsic
def _no_unroll(typing_context: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True)
        builder.call(nothing, [], attrs=("convergent",))  # LLVM does not unroll a loop with such a call
        return context.get_dummy_value()

    return nb.void(), emit


def prefetching(locality: int) -> Any:
    """LLVM's prefetch with this locality: 3 loads into the first-level cache, 2 into the second, 0 for one read."""

    @numba.extending.intrinsic
    def fetch(typing_context: Any, array: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, octets = ir.IntType(32), ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [octets, number, number, number])
            instruction = builder.module.declare_intrinsic("llvm.prefetch", tys=[octets], fnty=kind)
            if isinstance(array, nb.Array):  # an array of structures, see `struct_array`
                arguments = context.make_array(array)(context, builder, arguments[0]).data, arguments[1]
            kind = context.get_data_type(array.dtype)
            address = builder.bitcast(element(builder, arguments, kind), octets)
            for begin in range(0, context.get_abi_sizeof(kind), LINE_BYTES):
                line = builder.gep(address, [WORD(begin)], source_etype=ir.IntType(8))
                builder.call(instruction, [line, *map(number, (0, locality, 1))])  # read, data
            return context.get_dummy_value()

        return nb.void(array, nb.int64), emit

    return fetch


@numba.extending.intrinsic
def _call(typing_context: Any, entry: Any, result: Any, row: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = WORD.as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [words, words, words])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        exception = cgutils.alloca_once(builder, WORD)
        result_, row_ = (builder.inttoptr(address, words) for address in arguments[1:])
        return builder.sext(builder.call(function, [result_, exception, row_]), WORD)

    return nb.int64(nb.int64, nb.int64, nb.int64), emit


def call_of_c(returned: Any) -> Any:
    """A call of the C function at an address, which takes words and returns this type of Numba's."""

    @numba.extending.intrinsic
    def call(typing_context: Any, function: Any, arguments: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kind = ir.FunctionType(context.get_value_type(returned), [WORD] * len(arguments))
            words = cgutils.unpack_tuple(builder, given[1], len(arguments))
            return builder.call(builder.inttoptr(given[0], kind.as_pointer()), words)

        return returned(nb.int64, nb.UniTuple(nb.int64, len(arguments))), emit

    return call


@numba.extending.intrinsic
def _struct_array(typing_context: Any, pointer: Any, dtype: Any) -> Any:
    kind = nb.Array(dtype.dtype, 1, "C")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, item = make_array(kind)(context, builder), context.get_data_type(kind.dtype)
        item_bytes = context.get_abi_sizeof(item)
        first = builder.bitcast(arguments[0], item.as_pointer())
        populate_array(array, first, (WORD(MOST_ITEMS),), (WORD(item_bytes),), item_bytes, meminfo=None)
        return array._getvalue()

    return kind(pointer, dtype), emit


@numba.extending.intrinsic(prefer_literal=True)
def _room(typing_context: Any, count: Any, dtype: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once(builder, context.get_value_type(dtype.dtype), count.literal_value)

    return nb.CPointer(dtype.dtype)(count, dtype), emit


@numba.extending.intrinsic
def _numbers_of(typing_context: Any, array: Any) -> Any:
    kind = nb.CPointer(array.dtype.members[0][1])

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = context.make_array(array)(context, builder, arguments[0]).data
        return builder.bitcast(first, context.get_value_type(kind))

    return kind(array), emit


def load_u32(typing_context: Any, address: Any, index: Any) -> Any:
    """The type and the code of `intrinsics.u32_at`, for a CPU or a GPU."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], NUMBER.as_pointer())
        return builder.zext(builder.load(builder.gep(first, [arguments[1]], source_etype=NUMBER), typ=NUMBER), WORD)

    return nb.int64(nb.int64, nb.int64), emit


@numba.extending.intrinsic
def _word_at(typing_context: Any, data: Any, at: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = builder.bitcast(element(builder, arguments, ir.IntType(8)), WORD.as_pointer())
        return builder.load(address, align=1, typ=WORD)

    return nb.uint64(data, nb.int64), emit


@numba.extending.intrinsic
def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return nb.int64(nb.uint64), emit


NUMBERS = 32
"""How many numbers are packed together, and how many groups of them have their widths in one record."""
PERMUTE = {16: ("+avx512f", "llvm.x86.avx512.permvar.si.512"), 8: ("+avx2", "llvm.x86.avx2.permd")}
"""By the number of lanes: the instruction set that permutes numbers of 32 bits in a vector, and LLVM's function."""
PAGE_BYTES = 4096
"""Bytes in the smallest page of memory of x86-64: bytes of one page exist all or not at all."""


@numba.extending.intrinsic
def _sum_of_bytes(typing_context: Any, numbers: Any, at: Any, count: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8)
        kind, wide = ir.VectorType(byte, NUMBERS), ir.VectorType(NUMBER, NUMBERS)
        address = builder.bitcast(element(builder, arguments[:2], byte), kind.as_pointer())
        found, none = builder.load(address, align=1, typ=kind), ir.Constant(kind, [0] * NUMBERS)
        end = in_lanes(builder, builder.trunc(arguments[2], byte), NUMBERS)
        counted = builder.icmp_unsigned("<", ir.Constant(kind, list(range(NUMBERS))), end)
        add_up = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(NUMBER, [wide]), f"llvm.vector.reduce.add.v{NUMBERS}i32"
        )
        total = builder.call(add_up, [builder.zext(builder.select(counted, found, none), wide)])
        return builder.zext(total, WORD)

    return nb.int64(numbers, nb.int64, nb.int64), emit


def unpacked(builder: Any, first: Any, width: int) -> Any:
    """A vector of `NUMBERS` numbers of `width` bits, unpacked from the words at address `first`.

    The positions and shifts are constants, for which LLVM can choose the best instructions.
    """
    if not width:
        return constant([0] * NUMBERS)
    kind, none = ir.VectorType(NUMBER, width), constant([0] * width)
    words = builder.load(builder.bitcast(first, kind.as_pointer()), align=4, typ=kind)
    place = [divmod(k * width, 32) for k in range(NUMBERS)]
    low = builder.shuffle_vector(words, none, constant([word for word, _ in place]))
    numbers = builder.lshr(low, constant([bit for _, bit in place]))
    cut = [bit + width > 32 for _, bit in place]
    if any(cut):
        # Index `width` takes a zero, from the vector `none`.
        following = [word + 1 if c else width for (word, _), c in zip(place, cut, strict=True)]
        high = builder.shuffle_vector(words, none, constant(following))
        shifts = [32 - bit if c else 0 for (_, bit), c in zip(place, cut, strict=True)]
        numbers = builder.or_(numbers, builder.shl(high, constant(shifts)))
    return builder.and_(numbers, constant([(1 << width) - 1] * NUMBERS))


def constant(numbers: list[int]) -> Any:
    """A constant vector."""
    return ir.Constant(ir.VectorType(NUMBER, len(numbers)), numbers)


def unpacked_by_case(builder: Any, first: Any, width: Any) -> Any:
    """As `unpacked`, of a `width` that is known only when the code runs, with one case for each."""
    blocks = [builder.append_basic_block(f"width{k}") for k in range(33)]
    end = builder.append_basic_block("unpacked")
    choice = builder.switch(builder.trunc(width, NUMBER), blocks[0])
    found = []
    for k, block in enumerate(blocks):
        if k:
            choice.add_case(NUMBER(k), block)
        builder.position_at_end(block)
        found.append(unpacked(builder, first, k))
        builder.branch(end)
    builder.position_at_end(end)
    numbers = builder.phi(ir.VectorType(NUMBER, NUMBERS))
    for case, block in zip(found, blocks, strict=True):
        numbers.add_incoming(case, block)
    return numbers


def host_features() -> str:
    """The instruction sets of this CPU, as LLVM lists them; empty if LLVM cannot tell, which its name makes up for."""
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:
        return ""


@cache
def permuted() -> int:
    """How many numbers an instruction of this host can permute, each from a place that the processor computes: 16
    (AVX-512), 8 (AVX2), or 0."""
    features = host_features().split(",")
    return next((lanes for lanes, (feature, _) in PERMUTE.items() if feature in features), 0)


def unpacked_by_permuting(builder: Any, first: Any, width: Any) -> Any:
    """As `unpacked_by_case`, without a branch on `width`: the processor computes positions and shifts.

    Eight numbers take `width` bytes. So each vector of numbers begins with a byte, and all have the same positions and
    shifts.
    """
    lanes, byte = permuted(), ir.IntType(8)
    kind = ir.VectorType(NUMBER, lanes)
    bits = builder.mul(in_lanes(builder, builder.trunc(width, NUMBER), lanes), constant(list(range(lanes))))
    place = builder.lshr(bits, constant([5] * lanes))
    following = builder.add(place, constant([1] * lanes))
    mask = in_lanes(builder, builder.trunc(builder.sub(builder.shl(WORD(1), width), WORD(1)), NUMBER), lanes)
    permute = vector_function(builder, PERMUTE[lanes][1], lanes, 2)
    shift = vector_function(builder, f"llvm.fshr.v{lanes}i32", lanes, 3)
    begin, parts = words_to_load(builder, first, width), []
    for number in range(0, NUMBERS, lanes):
        address = builder.gep(begin, [builder.mul(width, WORD(number // 8))], source_etype=byte)
        words = builder.load(builder.bitcast(address, kind.as_pointer()), align=1, typ=kind)
        low, high = (builder.call(permute, [words, at]) for at in (place, following))
        parts.append(builder.and_(builder.call(shift, [high, low, bits]), mask))
    while len(parts) > 1:
        lanes *= 2
        both = constant(list(range(lanes)))
        parts = [builder.shuffle_vector(*two, both) for two in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def words_to_load(builder: Any, first: Any, width: Any) -> Any:
    """An address of the `width` words at `first` from which `NUMBERS` words can be loaded.

    Near the end of a page of memory, where the next page may not exist, it is that of a copy.
    """
    room = NUMBERS * NUMBER.width // 8
    copy = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(NUMBER, NUMBERS)), first.type)
    offset = builder.and_(builder.ptrtoint(first, WORD), WORD(PAGE_BYTES - 1))
    is_inside = builder.icmp_unsigned("<=", offset, WORD(PAGE_BYTES - room))
    exists = builder.icmp_unsigned(">", width, WORD(0))
    before, part, end = builder.block, builder.append_basic_block("part"), builder.append_basic_block("words")
    builder.cbranch(builder.and_(is_inside, exists), end, part).set_weights([99, 1])
    builder.position_at_end(part)
    cgutils.raw_memcpy(builder, copy, first, width, NUMBER.width // 8, align=4)
    builder.branch(end)
    builder.position_at_end(end)
    address = builder.phi(first.type)
    address.add_incoming(first, before)
    address.add_incoming(copy, part)
    return address


def in_lanes(builder: Any, number: Any, count: int) -> Any:
    """A vector with `number` in each of its `count` lanes."""
    none = ir.Constant(ir.VectorType(number.type, count), [0] * count)
    return builder.shuffle_vector(builder.insert_element(none, number, NUMBER(0)), none, constant([0] * count))


def vector_function(builder: Any, name: str, lanes: int, count: int) -> Any:
    """LLVM's function `name`, from `count` vectors of `lanes` numbers to one."""
    kind = ir.VectorType(NUMBER, lanes)
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * count), name)


@numba.extending.intrinsic
def _numbers_of_packed(typing_context: Any, words: Any, position: Any, width: Any, numbers: Any, at: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = unpacked_by_case(builder, element(builder, arguments[:2], NUMBER), arguments[2])
        store_numbers(builder, found, arguments[3:])
        return context.get_dummy_value()

    return nb.void(words, nb.int64, nb.int64, numbers, nb.int64), emit


def store_numbers(builder: Any, numbers: Any, place: Any) -> None:
    """Store a vector of `NUMBERS` numbers in an array, from an index on; `place` is the two."""
    out = builder.bitcast(element(builder, place, NUMBER), ir.VectorType(NUMBER, NUMBERS).as_pointer())
    builder.store(numbers, out, align=4)


@numba.extending.intrinsic
# wide: Numba's typing context, and the arguments of the intrinsic.
def _sums_of_packed(
    typing_context: Any, words: Any, position: Any, width: Any, begins: Any, before: Any, sums: Any, at: Any
) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        unpack = unpacked_by_permuting if permuted() else unpacked_by_case
        total = unpack(builder, element(builder, arguments[:2], NUMBER), arguments[2])
        none, bits = constant([0] * NUMBERS), ir.VectorType(ir.IntType(1), NUMBERS)
        # Running sums by doubling: after each step, sum k covers 2 * step numbers. A set bit k of `begun` means that a
        # sum begins among these, so that nothing before may be added.
        begins = begun = arguments[3]
        for step in (1, 2, 4, 8, 16):
            earlier = constant([k - step if k >= step else NUMBERS for k in range(NUMBERS)])
            more = builder.shuffle_vector(total, none, earlier)
            total = builder.add(total, builder.select(builder.bitcast(begun, bits), none, more))
            begun = builder.or_(begun, builder.shl(begun, NUMBER(step)))
        # The last sum is added up apart from the vector: so the next group waits for an addition only.
        last = builder.extract_element(total, NUMBER(NUMBERS - 1))
        carried = builder.select(builder.icmp_signed("<", begun, NUMBER(0)), NUMBER(0), arguments[4])
        begin = in_lanes(builder, arguments[4], NUMBERS)
        total = builder.add(total, builder.select(builder.bitcast(begun, bits), none, begin))
        store_numbers(builder, total, arguments[5:])
        previous = builder.shuffle_vector(total, begin, constant([NUMBERS, *range(NUMBERS - 1)]))
        less = builder.bitcast(builder.icmp_unsigned("<", total, previous), NUMBER)  # a sum that wrapped is smaller
        wrapped = builder.and_(less, builder.not_(begins))
        return context.make_tuple(builder, signature.return_type, (builder.add(last, carried), wrapped))

    both = nb.UniTuple(nb.uint32, 2)
    return both(words, nb.int64, nb.int64, nb.uint32, nb.uint32, sums, nb.int64), emit


REPLACED: dict[Any, Any] = {
    intrinsics.atomic_or: read_modify_write("or", nb.uint64),
    intrinsics.atomic_and: read_modify_write("and", nb.uint64),
    intrinsics.atomic_add: read_modify_write("add", nb.int64),
    intrinsics.atomic_load: _atomic_load,
    intrinsics.atomic_store: _atomic_store,
    intrinsics.compare_and_swap: _compare_and_swap,
    intrinsics.pause: _pause,
    intrinsics.sleep: of_semaphore("sem_wait"),
    intrinsics.wake: of_semaphore("sem_post"),
    intrinsics.clock: _clock,
    intrinsics.no_unroll: _no_unroll,
    intrinsics.prefetch: prefetching(0),
    intrinsics.prefetch_near: prefetching(3),
    intrinsics.prefetch_kept: prefetching(2),
    intrinsics.call: _call,
    intrinsics.call_c: call_of_c(nb.int64),
    intrinsics.call_c_f64: call_of_c(nb.float64),
    intrinsics.struct_array: _struct_array,
    intrinsics.room: _room,
    intrinsics.numbers_of: _numbers_of,
    intrinsics.sum_of_bytes: _sum_of_bytes,
    intrinsics.numbers_of_packed: _numbers_of_packed,
    intrinsics.sums_of_packed: _sums_of_packed,
    intrinsics.trailing_zeros: _trailing_zeros,
    intrinsics.u32_at: numba.extending.intrinsic(load_u32),
    intrinsics.word_at: _word_at,
}
"""The functions of `intrinsics`, and the Numba functions that replace them in compiled code."""
