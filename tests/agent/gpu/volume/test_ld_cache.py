import subprocess
from pathlib import Path

import pytest

from tests.agent.gpu.volume.elf_files import mixed_cache, new_cache, old_cache
from tfmesos.agent.gpu.volume.ld_cache import BadLdCache, CachedLibrary, read_ld_cache

LIBRARIES = [("libcuda.so.1", "/usr/lib64/libcuda.so.1"), ("libnvidia-ml.so.1", "/usr/lib64/libnvidia-ml.so.1")]


@pytest.mark.parametrize(
    "data",
    [old_cache(LIBRARIES), mixed_cache(LIBRARIES), new_cache(LIBRARIES), new_cache(LIBRARIES, extension=b"\x07" * 40)],
    ids=["old", "both", "new", "new with extensions"],
)
def test_every_layout_of_glibc_is_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "cache").write_bytes(data)

    assert read_ld_cache(tmp_path / "cache") == [CachedLibrary(name, path) for name, path in LIBRARIES]


def test_the_cache_of_this_machine_is_read_as_ldconfig_reads_it() -> None:
    printed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    told = {(line.split()[0], line.rpartition(" => ")[2]) for line in printed.splitlines() if " => " in line}

    assert {(library.name, library.path) for library in read_ld_cache(Path("/etc/ld.so.cache"))} == told


def test_entries_that_are_no_elf_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(new_cache(LIBRARIES, flags=0))

    assert read_ld_cache(tmp_path / "cache") == []


@pytest.mark.parametrize("whole", [old_cache(LIBRARIES), mixed_cache(LIBRARIES), new_cache(LIBRARIES)])
def test_a_cache_cut_off_anywhere_is_refused_or_read_wholly(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "cache"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(BadLdCache, match="is no cache of the dynamic linker"):
            read_ld_cache(path)


def test_a_number_of_entries_that_no_machine_has_is_refused(tmp_path: Path) -> None:
    data = bytearray(new_cache(LIBRARIES))
    data[20:24] = b"\xff\xff\xff\xff"
    (tmp_path / "cache").write_bytes(data)

    with pytest.raises(BadLdCache, match="4294967295 entries"):
        read_ld_cache(tmp_path / "cache")
