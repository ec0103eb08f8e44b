"""Device rules as a program for the kernel (BPF_PROG_TYPE_CGROUP_DEVICE). Pure.

The program is called for each open and mknod with `access << 16 | type`, the major and the minor number (kernel:
include/uapi/linux/bpf.h, struct bpf_cgroup_dev_ctx), and answers 1 to allow. It tries one rule after the other:

    r2 = type, r3 = access, r4 = major, r5 = minor
    rule:   if r2 != type goto next;  if r4 != major goto next;  if r5 != minor goto next
            r0 = r3; r0 &= access that the rule lacks;  if r0 != 0 goto next
            r0 = 1; exit
    next:   …
    r0 = 0; exit

A rule tests the type in any case, so what comes after it is never unreachable, which the verifier would refuse.
"""

import struct
import sys
from collections.abc import Collection

from tfmesos.cgroups.devices import ACCESSES, DeviceRule, merge_rules

_TYPES = {"b": 1, "c": 2}
_ACCESSES = {"m": 1, "r": 2, "w": 4}

_LOAD_WORD = 0x61  # dst = *(u32 *)(src + offset)
_COPY = 0xBF  # dst = src
_SET = 0xB7  # dst = constant
_AND = 0x57  # dst &= constant
_SHIFT_RIGHT = 0x77  # dst >>= constant
_JUMP_UNEQUAL = 0x55  # if dst != constant: skip `offset` instructions
_EXIT = 0x95

_ANSWER, _CONTEXT, _TYPE, _ACCESS, _MAJOR, _MINOR = range(6)

Instruction = tuple[int, int, int, int, int]
"""Code, destination, source, offset, constant."""


def assemble(rules: Collection[DeviceRule]) -> bytes:
    """A program that allows exactly what the rules do."""
    program: list[Instruction] = [
        (_LOAD_WORD, _TYPE, _CONTEXT, 0, 0),
        (_COPY, _ACCESS, _TYPE, 0, 0),
        (_AND, _TYPE, 0, 0, 0xFFFF),
        (_SHIFT_RIGHT, _ACCESS, 0, 0, 16),
        (_LOAD_WORD, _MAJOR, _CONTEXT, 4, 0),
        (_LOAD_WORD, _MINOR, _CONTEXT, 8, 0),
    ]
    for rule in merge_rules(rules):
        program += _assemble_rule(rule)
    program += [(_SET, _ANSWER, 0, 0, 0), (_EXIT, 0, 0, 0, 0)]
    return b"".join(map(_encode, program))


def _assemble_rule(rule: DeviceRule) -> list[Instruction]:
    tests: list[tuple[list[Instruction], int, int]] = [([], _TYPE, _TYPES[rule.device.type])]
    if rule.device.major is not None:
        tests.append(([], _MAJOR, rule.device.major))
    if rule.device.minor is not None:
        tests.append(([], _MINOR, rule.device.minor))
    lacking = sum(_ACCESSES[letter] for letter in ACCESSES if letter not in rule.access)
    if lacking:
        tests.append(([(_COPY, _ANSWER, _ACCESS, 0, 0), (_AND, _ANSWER, 0, 0, lacking)], _ANSWER, 0))
    block: list[Instruction] = [(_SET, _ANSWER, 0, 0, 1), (_EXIT, 0, 0, 0, 0)]
    for preparation, register, constant in reversed(tests):
        block = [*preparation, (_JUMP_UNEQUAL, register, 0, len(block), constant), *block]
    return block


def _encode(instruction: Instruction) -> bytes:
    code, destination, source, offset, constant = instruction
    registers = source << 4 | destination if sys.byteorder == "little" else destination << 4 | source
    return struct.pack("=BBhi", code, registers, offset, constant)
