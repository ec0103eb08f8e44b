#!/usr/bin/env python3
"""Make a container image out of what is installed on this machine: no network, no docker.

    python docker/offline_image.py --tag=tfmesos/tfmesos:latest --python=tensorflow --python=tfmesos image.tar

Debian packages (`--debian`; always python3, a shell, coreutils) come with all that they depend on, Python packages
(`--python`) from the environment whose Python runs this script. The archive is one of `docker save`: docker loads it,
and `mesos-agent --docker_registry=DIRECTORY` finds it there as `REPOSITORY:TAG.tar`. docker/Dockerfile makes the same
where a registry and a package index can be reached.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import io
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

DEBIAN = (
    "base-files", "base-passwd", "ca-certificates", "coreutils", "dash", "grep", "libc-bin", "libstdc++6", "procps",
    "python3", "sed",
)  # fmt: skip
"""What every image has; extension modules of Python packages want libstdc++."""
MAINTENANCE = frozenset(("debconf", "dpkg", "install-info", "openssl", "perl-base", "sensible-utils", "tar", "ucf"))
"""What only the installation of packages wants."""
NOT_TO_RUN = re.compile(
    r"/usr/share/(bash-completion|bug|doc|doc-base|info|lintian|locale|man|menu|perl5)(/|$)|-packages/[^/]+/include/"
)
"""Texts, and the headers of Python packages: of TensorFlow's files 18,000 of 22,000."""
NAME = re.compile(r"[a-z0-9][a-z0-9._/:-]*:\w[\w.-]*", re.ASCII)
"""Docker loads no other."""
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GPU = ("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
"""What docker/Dockerfile's GPU image says to NVIDIA's container toolkit, and to agents."""


def main() -> int:
    """The exit status."""
    asked = _arguments()
    try:
        _write(asked)
    except (LookupError, OSError, ValueError) as error:
        print(f"offline_image.py: {error}", file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="offline_image.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path, help="where to write it")
    parser.add_argument("--tag", required=True, help="REPOSITORY:TAG, as tfmesos/tfmesos:latest")
    for name, kind in (("--debian", "Debian package that is installed"), ("--python", "Python package of this Python")):
        parser.add_argument(name, action="append", default=[], metavar="PACKAGE", help=f"a {kind}; may be given again")
    parser.add_argument("--gpu", action="store_true", help="ask for GPUs and their driver's files")
    return parser.parse_args()


def _write(asked: argparse.Namespace) -> None:
    if not NAME.fullmatch(asked.tag):
        raise ValueError(f"--tag={asked.tag} is not REPOSITORY:TAG, as tfmesos/tfmesos:latest (in small letters)")
    repository, _, tag = asked.tag.rpartition(":")
    layers = [debian_layer([*DEBIAN, *asked.debian])]
    if asked.python:
        layers.append(python_layer(asked.python))
    asked.archive.parent.mkdir(parents=True, exist_ok=True)
    with asked.archive.open("wb") as file:
        write_archive(file, layers, repository, tag, list(_environment(asked)))


def _environment(asked: argparse.Namespace) -> Iterator[str]:
    """As docker/Dockerfile has it: jobs that are started in an image with TFMesos run in it, too."""
    yield from (PATH, "LANG=C.UTF-8")
    if "tfmesos" in map(_name, asked.python):
        yield f"DOCKER_IMAGE={asked.tag}"
    if asked.gpu:
        yield from GPU


Layer = Mapping[str, "Path | bytes"]
"""Path in the image → the file here, or a link's target as bytes. Sorted, directories before what is in them."""


def debian_layer(packages: Iterable[str]) -> Layer:
    """The files of these packages and of all that they depend on."""
    listed = subprocess.run(
        ["dpkg-query", "--listfiles", *closure(packages, debian_dependencies())],
        check=True,
        capture_output=True,
        text=True,
    )
    files: dict[str, Path | bytes] = {}
    for line in set(listed.stdout.splitlines()):
        if line.startswith("/") and line != "/." and not NOT_TO_RUN.match(line) and os.path.lexists(line):
            files |= {_in_image(path): path for path in _with_bytecode(Path(line))}
    for link in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink(f"/{link}"):
            files[link] = Path(f"/{link}")
    files["etc/passwd"] = Path("/usr/share/base-passwd/passwd.master")
    files["etc/group"] = Path("/usr/share/base-passwd/group.master")
    files["usr/local/bin/python"] = b"/usr/bin/python3"
    return files


def python_layer(packages: Iterable[str]) -> Layer:
    """The files of these packages and of all that they depend on, where Debian's python3 finds them."""
    version = "python{}.{}".format(*sys.version_info[:2])
    if os.path.realpath("/usr/bin/python3") != f"/usr/bin/{version}":
        raise ValueError(f"/usr/bin/python3 is not {version}: run this script by an environment of /usr/bin/python3")
    installed = {_name(found.metadata["Name"]): found for found in importlib.metadata.distributions()}
    dependencies = {name: list(_requirements(found)) for name, found in installed.items()}
    site = f"usr/local/lib/{version}/dist-packages"
    files: dict[str, Path | bytes] = {}
    for name in closure(map(_name, packages), dependencies):
        files |= {os.path.normpath(f"{site}/{path}"): file for path, file in _files(installed[name])}
    return files


def closure(wanted: Iterable[str], dependencies: Mapping[str, list[str]]) -> list[str]:
    """All of them, sorted. LookupError: one is not installed."""
    found: set[str] = set()
    left = list(wanted)
    for name in left:
        if name not in dependencies:
            raise LookupError(f"{name} is not installed here")
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [other for other in dependencies[name] if other in dependencies]
    return sorted(found)


def debian_dependencies() -> dict[str, list[str]]:
    """Installed package → what it needs."""
    form = "${db:Status-Status}\t${Package}\t${Pre-Depends}, ${Depends}\n"
    shown = subprocess.run(["dpkg-query", "--show", f"--showformat={form}"], check=True, capture_output=True, text=True)
    needs = {}
    for line in shown.stdout.splitlines():
        status, package, depends = line.split("\t")
        if status == "installed" and package not in MAINTENANCE:
            needs[package] = [re.split(r"[ :(]", one.strip())[0] for one in re.split(r"[,|]", depends) if one.strip()]
    return needs


def write_archive(file: IO[bytes], layers: Iterable[Layer], repository: str, tag: str, environment: list[str]) -> None:
    """As `docker save` writes it; layers are not compressed."""
    names: list[str] = []
    digests: list[str] = []
    for number, layer in enumerate(layers):
        identity = hashlib.sha256(f"{repository}:{tag} {number}".encode()).hexdigest()
        digests.append(_append_layer(file, f"{identity}/layer.tar", layer))
        described = {"id": identity, **({"parent": names[-1]} if names else {})}
        _append(file, f"{identity}/json", json.dumps(described).encode())
        names.append(identity)
    config = json.dumps(_config(digests, environment)).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    _append(file, config_name, config)
    paths = [f"{name}/layer.tar" for name in names]
    manifest = [{"Config": config_name, "RepoTags": [f"{repository}:{tag}"], "Layers": paths}]
    _append(file, "manifest.json", json.dumps(manifest).encode())
    _append(file, "repositories", json.dumps({repository: {tag: names[-1]}}).encode())
    file.write(bytes(1024))


def _config(digests: list[str], environment: list[str]) -> dict[str, Any]:
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    return {
        "architecture": architecture,
        "os": "linux",
        "config": {"Env": environment, "Cmd": ["python3"]},
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created_by": "docker/offline_image.py"} for _ in digests],
    }


class _Hashing(io.RawIOBase):
    """Writes on, and knows the digest and number of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self.size = file, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._hash.update(content)
        self.size += len(content)
        return self._file.write(content)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


def _append_layer(file: IO[bytes], name: str, layer: Layer) -> str:
    """The layer's tar is written in place: only then its size is known. Its digest."""
    start = file.tell()
    file.write(bytes(tarfile.BLOCKSIZE))
    hashing = _Hashing(file)
    with tarfile.open(fileobj=hashing, mode="w|", format=tarfile.GNU_FORMAT, bufsize=1 << 20) as tar:
        for path in sorted(_with_parents(layer)):
            _add(tar, path, layer.get(path))
    file.write(bytes(-hashing.size % tarfile.BLOCKSIZE))
    file.seek(start)
    file.write(_header(name, hashing.size))
    file.seek(0, os.SEEK_END)
    return hashing.digest


def _append(file: IO[bytes], name: str, content: bytes) -> None:
    file.write(_header(name, len(content)) + content + bytes(-len(content) % tarfile.BLOCKSIZE))


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


def _add(tar: tarfile.TarFile, path: str, source: Path | bytes | None) -> None:
    """Owned by root, with the mode that it has here; no source: a directory."""
    member = tarfile.TarInfo(path)
    if isinstance(source, bytes):
        member.type, member.linkname = tarfile.SYMTYPE, source.decode()
        return tar.addfile(member)
    if source is None:
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        return tar.addfile(member)
    status = source.lstat()
    member.mode, member.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    if stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(source)
    elif stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
    else:
        return _add_file(tar, member, source)
    tar.addfile(member)


def _add_file(tar: tarfile.TarFile, member: tarfile.TarInfo, source: Path) -> None:
    if member.name.startswith("usr/local/bin/"):  # of a Python package: it names the Python of the environment
        content = re.sub(rb"\A#!.*python.*\n", b"#!/usr/bin/python3\n", source.read_bytes())
        member.size = len(content)
        return tar.addfile(member, io.BytesIO(content))
    with source.open("rb") as file:
        member.size = os.fstat(file.fileno()).st_size
        tar.addfile(member, file)


def _with_parents(layer: Layer) -> set[str]:
    return {str(above) for path in layer for above in PurePosixPath(path).parents if str(above) != "."} | layer.keys()


def _in_image(path: Path) -> str:
    """`/bin/x` is `usr/bin/x` where /bin leads to usr/bin."""
    return os.path.join(os.path.realpath(path.parent), path.name).lstrip("/")


def _with_bytecode(path: Path) -> Iterator[Path]:
    """Packages of Debian make it when they are installed."""
    yield path
    if path.suffix == ".py":
        compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        if compiled.exists():
            yield compiled


def _name(name: str) -> str:
    """Python: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(found: importlib.metadata.Distribution) -> Iterator[str]:
    for line in found.requires or ():
        requirement, _, marker = line.partition(";")
        if "extra" not in marker:
            yield _name(re.split(r"[^A-Za-z0-9._-]", requirement.strip())[0])


def _files(found: importlib.metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Path below site-packages → file; what lies in a checkout (an editable installation) is taken from there."""
    for path in found.files or ():
        file = Path(str(found.locate_file(path)))
        if path.suffix == ".pth":
            for line in file.read_text().splitlines():
                with suppress(OSError):
                    yield from _tree(Path(line))
        elif file.exists() and not NOT_TO_RUN.search(str(file)):
            yield str(path), file


def _tree(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield str(file.relative_to(folder)), file


if __name__ == "__main__":
    sys.exit(main())
