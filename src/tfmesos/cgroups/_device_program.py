"""Device rules as a program for the kernel (BPF_PROG_TYPE_CGROUP_DEVICE). Pure.

The program is called for each open and mknod with `access << 16 | type`, the major and the minor number (kernel:
include/uapi/linux/bpf.h, struct bpf_cgroup_dev_ctx), and answers 1 to allow. Rules share the tests that they have in
common: the kernel verifies 512 rules in 2 ms so, and in a second if each makes all its tests.

    r2 = type, r3 = access, r4 = major, r5 = minor
    if r2 != a type: skip its rules
        if r3 has a bit beyond an access: skip the rules with it
            if r4 != a major number: skip the rules for it
                if r5 == a minor number: go to `allow`    for each
                skip `allow`
                allow: r0 = 1; exit
    r0 = 0; exit

What comes after a part that always allows would be unreachable, which the verifier refuses: such a part stands alone.
"""

import struct
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from tfmesos.cgroups.devices import ACCESSES, DeviceRule, merge_rules

_TYPES = {"b": 1, "c": 2}
_ACCESSES = {"m": 1, "r": 2, "w": 4}

_LOAD_WORD = 0x61  # destination = *(u32 *)(source + offset)
_COPY = 0xBF  # destination = source
_SET = 0xB7  # destination = constant
_AND = 0x57  # destination &= constant
_SHIFT_RIGHT = 0x77  # destination >>= constant
_JUMP = 0x05  # skip `offset` instructions
_JUMP_EQUAL = 0x15  # the same if destination == constant
_JUMP_UNEQUAL = 0x55
_EXIT = 0x95

_ANSWER, _CONTEXT, _TYPE, _ACCESS, _MAJOR, _MINOR = range(6)

Instruction = tuple[int, int, int, int, int]
"""Code, destination, source, offset, constant."""

Block = list[Instruction]
Key = TypeVar("Key")

_START: Block = [
    (_LOAD_WORD, _TYPE, _CONTEXT, 0, 0),
    (_COPY, _ACCESS, _TYPE, 0, 0),
    (_AND, _TYPE, 0, 0, 0xFFFF),
    (_SHIFT_RIGHT, _ACCESS, 0, 0, 16),
    (_LOAD_WORD, _MAJOR, _CONTEXT, 4, 0),
    (_LOAD_WORD, _MINOR, _CONTEXT, 8, 0),
]
_ALLOW: Block = [(_SET, _ANSWER, 0, 0, 1), (_EXIT, 0, 0, 0, 0)]
_DENY: Block = [(_SET, _ANSWER, 0, 0, 0), (_EXIT, 0, 0, 0, 0)]


def assemble(rules: Collection[DeviceRule]) -> bytes:
    """A program that allows exactly what the rules do."""
    parts = [
        _unless_equal(_TYPE, _TYPES[kind], _for_type(its))
        for kind, its in _group(merge_rules(rules), lambda rule: rule.device.type)
    ]
    return b"".join(map(_encode, [*_START, *_joined(parts), *_DENY]))


def _for_type(rules: Iterable[DeviceRule]) -> Block:
    return _joined(_within(access, _for_access(its)) for access, its in _group(rules, lambda rule: rule.access))


def _for_access(rules: Iterable[DeviceRule]) -> Block:
    return _joined(
        _unless_equal(_MAJOR, major, _for_major([rule.device.minor for rule in its]))
        for major, its in _group(rules, lambda rule: rule.device.major)
    )


def _for_major(minors: Collection[int | None]) -> Block:
    numbers = [minor for minor in minors if minor is not None]
    if len(numbers) < len(minors):
        return _ALLOW
    tests = [(_JUMP_EQUAL, _MINOR, 0, len(numbers) - place, minor) for place, minor in enumerate(numbers)]
    return [*tests, (_JUMP, 0, 0, len(_ALLOW), 0), *_ALLOW]


def _unless_equal(register: int, constant: int | None, block: Block) -> Block:
    """Skip the block; never if there is nothing to compare with."""
    return block if constant is None else [(_JUMP_UNEQUAL, register, 0, len(block), constant), *block]


def _within(access: str, block: Block) -> Block:
    """Skip the block for a request with other bits than these."""
    lacking = sum(_ACCESSES[letter] for letter in ACCESSES if letter not in access)
    if not lacking:
        return block
    return [(_COPY, _ANSWER, _ACCESS, 0, 0), (_AND, _ANSWER, 0, 0, lacking), *_unless_equal(_ANSWER, 0, block)]


def _joined(parts: Iterable[Block]) -> Block:
    """One after the other; a part that always allows makes the others superfluous."""
    every = list(parts)
    return _ALLOW if _ALLOW in every else [instruction for part in every for instruction in part]


def _group(rules: Iterable[DeviceRule], key: Callable[[DeviceRule], Key]) -> list[tuple[Key, list[DeviceRule]]]:
    groups: dict[Key, list[DeviceRule]] = {}
    for rule in rules:
        groups.setdefault(key(rule), []).append(rule)
    return list(groups.items())


def _encode(instruction: Instruction) -> bytes:
    code, destination, source, offset, constant = instruction
    return struct.pack("<BBhi", code, source << 4 | destination, offset, constant)
