from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.agent.gpu.volume.elf_files import elf
from tfmesos.agent.gpu.volume.elf import BadElf, Elf, read_elf


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_what_a_library_says_of_itself_is_read(tmp_path: Path, bits: int, order: str) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(elf(bits=bits, order=order, soname="libx.so.1", needed=["liba.so", "libb.so.2"], abi=(2, 3, 99)))

    assert read_elf(path) == Elf(bits=bits, needed=("liba.so", "libb.so.2"), soname="libx.so.1", abi=(2, 3, 99))


def test_names_and_the_note_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(elf())

    assert read_elf(tmp_path / "lib.so") == Elf(bits=64, needed=(), soname=None, abi=None)


def test_a_real_library_is_read() -> None:
    found = read_elf(Path("/proc/self/exe").resolve())

    assert (found.bits, found.soname) == (64, None)
    assert "libc.so.6" in found.needed


def test_a_library_cut_off_anywhere_is_refused_or_says_less(tmp_path: Path) -> None:
    whole = elf(soname="libx.so.1", needed=["liba.so"], abi=(2, 3, 99))
    path = tmp_path / "lib.so"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            found = read_elf(path)
        except BadElf:
            continue
        assert found.abi is None


WHOLE = elf(soname="libx.so.1", needed=["liba.so"], abi=(2, 3, 99))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(WHOLE) - 1), damage=st.sampled_from([b"\xff" * 8, b"\x7f" * 8]) | st.binary(max_size=8))
@example(at=40, damage=b"\xff" * 8)
def test_a_library_damaged_anywhere_is_refused_or_read(tmp_path: Path, at: int, damage: bytes) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(WHOLE[:at] + damage + WHOLE[at + len(damage) :])
    with suppress(BadElf):
        read_elf(path)


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"#!/bin/sh\n", b"\x7fELF\x05\x01" + bytes(100)])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "lib.so").write_bytes(data)

    with pytest.raises(BadElf, match="is no ELF library"):
        read_elf(tmp_path / "lib.so")
