"""On small trees, each like a machine with a driver of some generation."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent.gpu.volume.elf_files import elf, mixed_cache, new_cache
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.volume import DriverVolume, build_driver_volume

VERSION = "570.86.15"
DIRECTORY = "/usr/lib/x86_64-linux-gnu"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the volume")


class Tree:
    """A root directory with a driver in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cached: list[tuple[str, str]] = []
        self.program("nvidia-smi")

    def program(self, name: str, text: str = "#!/bin/sh\necho hello\n") -> None:
        path = self.root / "usr/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def library(
        self,
        soname: str,
        file_name: str,
        *,
        directory: str = DIRECTORY,
        is_cached: bool = True,
        data: bytes | None = None,
    ) -> None:
        """A file, and the link by which programs load it."""
        path = self.root / directory.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        (path / file_name).write_bytes(elf(soname=soname) if data is None else data)
        if soname != file_name:
            (path / soname).symlink_to(file_name)
        if is_cached:
            self.cached.append((soname, f"{directory}/{soname}"))

    def write_cache(self, data: bytes | None = None) -> None:
        (self.root / "etc").mkdir(exist_ok=True)
        (self.root / "etc/ld.so.cache").write_bytes(new_cache(self.cached) if data is None else data)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "root")
    tree.library("libcuda.so.1", f"libcuda.so.{VERSION}")
    tree.library("libnvidia-ml.so.1", f"libnvidia-ml.so.{VERSION}")
    tree.library("libc.so.6", "libc.so.6")
    tree.write_cache()
    return tree


def build(tree: Tree, directory: Path) -> Path:
    return build_driver_volume(directory, VERSION, tree.root)


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_the_volume_has_the_drivers_programs_and_libraries(tree: Tree, tmp_path: Path) -> None:
    volume = build(tree, tmp_path / "gpu")

    assert volume == tmp_path / "gpu" / f"nvidia_{VERSION}"
    assert names(volume) == {"bin", "lib", "lib64"}
    assert names(volume / "lib64") == {
        "libcuda.so.1",
        f"libcuda.so.{VERSION}",
        "libnvidia-ml.so.1",
        f"libnvidia-ml.so.{VERSION}",
    }
    assert os.readlink(volume / "lib64/libnvidia-ml.so.1") == f"libnvidia-ml.so.{VERSION}"
    assert subprocess.check_output([volume / "bin/nvidia-smi"]) == b"hello\n"


def test_containers_of_any_user_can_read_it(tree: Tree, tmp_path: Path) -> None:
    volume = build(tree, tmp_path / "gpu")

    assert {path.stat().st_mode & 0o777 for path in (volume, *volume.iterdir())} == {0o755}


def test_an_older_machine_with_both_layouts_of_the_cache(tree: Tree, tmp_path: Path) -> None:
    tree.library(
        "libcuda.so.1", f"libcuda.so.{VERSION}", directory="/usr/lib32", data=elf(bits=32, soname="libcuda.so.1")
    )
    tree.write_cache(mixed_cache(tree.cached))

    volume = build(tree, tmp_path / "gpu")

    assert names(volume / "lib") == {"libcuda.so.1", f"libcuda.so.{VERSION}"}
    assert "libcuda.so.1" in names(volume / "lib64")


def test_a_library_that_nobody_knows_is_taken_by_its_version(tree: Tree, tmp_path: Path) -> None:
    tree.library("libnvidia-newthing.so.1", f"libnvidia-newthing.so.{VERSION}")
    tree.library("libbrandnew.so.1", f"libbrandnew.so.{VERSION}")
    tree.library("libnvidia-gpucomp.so", f"libnvidia-gpucomp.so.{VERSION}", is_cached=False)
    tree.write_cache()

    volume = build(tree, tmp_path / "gpu")

    assert {"libnvidia-newthing.so.1", "libbrandnew.so.1", f"libnvidia-gpucomp.so.{VERSION}"} <= names(volume / "lib64")
    assert os.readlink(volume / "lib64/libnvidia-gpucomp.so") == f"libnvidia-gpucomp.so.{VERSION}"


def test_a_library_with_a_version_of_its_own_is_taken_by_its_name(tree: Tree, tmp_path: Path) -> None:
    tree.library("libnvidia-egl-gbm.so.1", "libnvidia-egl-gbm.so.1.1.2")
    tree.write_cache()

    assert "libnvidia-egl-gbm.so.1.1.2" in names(build(tree, tmp_path / "gpu") / "lib64")


@pytest.mark.parametrize(
    ("soname", "file_name"),
    [
        ("libnvidia-ml.so.0", "libnvidia-ml.so.535.183.01"),
        ("libnvidia-container.so.1", "libnvidia-container.so.1.17.8"),
    ],
    ids=["another driver's", "the toolkit's"],
)
def test_what_is_not_this_drivers_is_left_out(tree: Tree, tmp_path: Path, soname: str, file_name: str) -> None:
    tree.library(soname, file_name)
    tree.write_cache()

    assert not {soname, file_name} & names(build(tree, tmp_path / "gpu") / "lib64")


@pytest.mark.parametrize(
    ("abi", "is_taken"), [(None, True), ((2, 3, 99), True), ((2, 2, 5), False)], ids=["no note", "2.3.99", "2.2.5"]
)
def test_of_the_two_tls_libraries_that_for_todays_kernels_is_taken(
    tree: Tree, tmp_path: Path, abi: tuple[int, int, int] | None, is_taken: bool
) -> None:
    name = f"libnvidia-tls.so.{VERSION}"
    tree.library(name, name, data=elf(soname=name, abi=abi))
    tree.write_cache()

    assert (name in names(build(tree, tmp_path / "gpu") / "lib64")) is is_taken


@pytest.mark.parametrize(("needed", "is_taken"), [("libGLdispatch.so.0", False), ("libnvidia-glcore.so.340.108", True)])
def test_libgl_is_taken_only_if_it_is_nvidias_own(tree: Tree, tmp_path: Path, needed: str, is_taken: bool) -> None:
    tree.library("libGL.so.1", "libGL.so.1.7.0", data=elf(soname="libGL.so.1", needed=[needed]))
    tree.write_cache()

    assert ("libGL.so.1" in names(build(tree, tmp_path / "gpu") / "lib64")) is is_taken


def test_glx_has_the_name_that_indirect_rendering_asks_for(tree: Tree, tmp_path: Path) -> None:
    tree.library("libGLX_nvidia.so.0", f"libGLX_nvidia.so.{VERSION}")
    tree.write_cache()

    assert "libGLX_indirect.so.0" in names(build(tree, tmp_path / "gpu") / "lib64")


def test_a_damaged_library_and_a_link_to_nowhere_are_left_out(tree: Tree, tmp_path: Path) -> None:
    tree.library("libnvidia-bad.so.1", f"libnvidia-bad.so.{VERSION}", data=b"no library")
    tree.cached.append(("libnvidia-gone.so.1", f"{DIRECTORY}/libnvidia-gone.so.1"))
    tree.write_cache()

    assert not [name for name in names(build(tree, tmp_path / "gpu") / "lib64") if "bad" in name or "gone" in name]


def test_links_lead_nowhere_outside_of_the_tree(tree: Tree, tmp_path: Path) -> None:
    path = tree.root / DIRECTORY.lstrip("/") / "libnvidia-abs.so.1"
    path.symlink_to(f"{DIRECTORY}/libcuda.so.{VERSION}")
    tree.cached.append(("libnvidia-abs.so.1", f"{DIRECTORY}/libnvidia-abs.so.1"))
    tree.write_cache()

    volume = build(tree, tmp_path / "gpu")

    assert os.readlink(volume / "lib64/libnvidia-abs.so.1") == f"libcuda.so.{VERSION}"


def test_what_lies_beside_a_file_that_the_cache_names_by_a_link_is_found(tree: Tree, tmp_path: Path) -> None:
    current = "/usr/lib/x86_64-linux-gnu/nvidia/current"
    tree.library("libcuda.so.9", f"libcuda.so.{VERSION}", directory=current, is_cached=False)
    tree.library("libnvidia-beside.so.1", f"libnvidia-beside.so.{VERSION}", directory=current, is_cached=False)
    (tree.root / DIRECTORY.lstrip("/") / "libcuda.so.9").symlink_to(f"{current}/libcuda.so.9")
    tree.cached.append(("libcuda.so.9", f"{DIRECTORY}/libcuda.so.9"))
    tree.write_cache()

    assert f"libnvidia-beside.so.{VERSION}" in names(build(tree, tmp_path / "gpu") / "lib64")


def test_without_a_cache_the_usual_directories_are_looked_through(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "etc/ld.so.cache").unlink()

    assert {"libcuda.so.1", f"libnvidia-ml.so.{VERSION}"} <= names(build(tree, tmp_path / "gpu") / "lib64")


def test_a_build_that_was_interrupted_is_made_anew(tree: Tree, tmp_path: Path) -> None:
    unfinished = tmp_path / "gpu/.nvidia_x1/lib64"
    unfinished.mkdir(parents=True)
    (unfinished / "libcuda.so.1").write_bytes(b"half")

    volume = build(tree, tmp_path / "gpu")

    assert names(tmp_path / "gpu") == {volume.name}
    assert (volume / "lib64/libcuda.so.1").read_bytes()[:4] == b"\x7fELF"


def test_a_whole_volume_is_kept_and_that_of_another_driver_goes(tree: Tree, tmp_path: Path) -> None:
    old = build(tree, tmp_path / "gpu")
    (old / "mark").touch()
    assert build(tree, tmp_path / "gpu") == old
    assert (old / "mark").exists()

    tree.library("libcuda.so.2", "libcuda.so.580.10")
    build_driver_volume(tmp_path / "gpu", "580.10", tree.root)

    assert names(tmp_path / "gpu") == {"nvidia_580.10"}


def test_several_builds_at_once_make_one_volume(tree: Tree, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        built = {building.result() for building in [pool.submit(build, tree, tmp_path / "gpu") for _ in range(4)]}

    (volume,) = built
    assert names(tmp_path / "gpu") == {volume.name}


async def test_what_only_containers_with_images_want_stops_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    volume = DriverVolume(tmp_path / "gpu", "999.9.9")
    await volume.make_ready()

    text = "no library of the NVIDIA driver 999.9.9 was found"
    assert text in caplog.text
    with pytest.raises(GpuError, match=text):
        await volume.provide()


def test_a_machine_without_the_driver_is_told(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root")
    tree.write_cache()

    with pytest.raises(GpuError, match=r"no library of the NVIDIA driver 570\.86\.15 was found"):
        build(tree, tmp_path / "gpu")
    assert names(tmp_path / "gpu") == set()


def test_a_place_that_cannot_be_written_is_told(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "gpu").write_text("a file")

    with pytest.raises(GpuError, match="cannot make the volume of the NVIDIA driver in"):
        build(tree, tmp_path / "gpu")


def test_programs_can_be_executed_where_the_file_system_forbids_it(tree: Tree, tmp_path: Path) -> None:
    place = tmp_path / "gpu"
    place.mkdir()
    program = (
        "import sys; from pathlib import Path; from tfmesos.agent.gpu.volume import build_driver_volume as build;"
        "print(build(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))"
    )
    script = (
        'mount -t tmpfs -o noexec,size=8m none "$1" && "$2" -c "$3" "$1" "$4" "$5" && "$1/nvidia_$4/bin/nvidia-smi"'
    )
    argv = ["unshare", "-m", "sh", "-c", script, "sh", str(place), sys.executable, program, VERSION, str(tree.root)]

    done = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [f"{place}/nvidia_{VERSION}", "hello"], done.stderr
