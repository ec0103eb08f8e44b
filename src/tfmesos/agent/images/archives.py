"""Images in tar files: of `docker save`, before and since Docker 25, and of OCI layouts.

What skopeo reads of an archive has a colon in its name, which skopeo takes for the end of the path; and of an OCI
archive it takes no image out of an index. So links to, or copies of, what is there are made first.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from typing import IO

from tfmesos.agent.images.errors import BadReference
from tfmesos.agent.images.layouts import NAME, Layout
from tfmesos.agent.images.manifests import Entry, Index, Platform, UnusableImage, to_oci
from tfmesos.agent.images.reference import LATEST, Reference, is_digest
from tfmesos.agent.images.sources import Registry, source_of

_MAX_JSON = 8 * 1024**2
_REF_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


class Archive:
    """One archive that is being pulled from. All methods read or write files."""

    def __init__(self, path: str, reference: Reference) -> None:
        self.path = path
        self._reference = reference

    def prepare(self, directory: str) -> str | None:
        """What skopeo is to read of an archive of `docker save`; None: it is an OCI layout. Raises UnusableImage."""
        try:
            with tarfile.open(self.path) as archive:
                saved = _json_member(archive, "manifest.json")
                if saved is not None:
                    link = f"{directory}/archive.tar"
                    os.symlink(os.path.abspath(self.path), link)
                    return f"docker-archive:{link}:@{self._saved_at(saved)}"
                if _json_member(archive, "index.json") is None:
                    raise UnusableImage(f"{self.path} has neither manifest.json (docker save) nor index.json (OCI)")
                _extract_layout(archive, f"{directory}/layout")
                return None
        except (tarfile.TarError, EOFError) as error:
            reason = str(error).partition(":\n")[0]  # after it comes a line for each compression that was tried
            raise UnusableImage(f"{self.path} is no tar file, or a damaged one: {reason}") from error

    def choose(self, directory: str, platform: Platform) -> tuple[bytes, str]:
        """Of an OCI layout: the manifest for a platform, and what skopeo is to read. Raises UnusableImage."""
        layout = Layout(f"{directory}/layout")
        content = layout.manifest(self._named(layout.top()), platform)
        layout.write_top(to_oci(content))  # skopeo sees none of Docker's in an OCI layout
        return content, f"oci:{layout.path}:{NAME}"

    def _saved_at(self, images: object) -> int:
        """Which of the images of an archive it is; the only one, whatever it is called."""
        entries = images if isinstance(images, list) else []
        if len(entries) == 1:
            return 0
        wanted = _full_name(str(self._reference))
        for number, entry in enumerate(entries):
            tags = entry.get("RepoTags") if isinstance(entry, dict) else None
            if any(_full_name(str(tag)) == wanted for tag in tags or ()):
                return number
        raise UnusableImage(f"{self.path} has {len(entries)} images, and none of that name")

    def _named(self, index: Index) -> Index:
        """The entries of that name, if any has it; else all: there is only one image then."""
        names = {_full_name(str(self._reference)), self._reference.tag or LATEST, str(self._reference)}
        named = [entry for entry in index.entries if names & set(_names_of(entry))]
        if named:
            return Index(tuple(named))
        if len({name for entry in index.entries for name in _names_of(entry)}) > 1:
            raise UnusableImage(f"{self.path} has several images, and none of that name")
        return index


def _json_member(archive: tarfile.TarFile, name: str) -> object | None:
    try:
        file = archive.extractfile(name)
    except KeyError:
        return None
    if file is None:
        return None
    try:
        found: object = json.loads(file.read(_MAX_JSON))
    except (ValueError, RecursionError):
        raise UnusableImage(f"its {name} is not JSON") from None
    return found


def _extract_layout(archive: tarfile.TarFile, layout: str) -> None:
    """Only plain files with the names that a layout has: nothing else can come out of it."""
    for member in archive:
        name = member.name.removeprefix("./")
        parts = name.split("/")
        is_blob = len(parts) == 3 and parts[0] == "blobs" and is_digest(":".join(parts[1:]))
        if member.isreg() and (is_blob or name in ("oci-layout", "index.json")):
            file = archive.extractfile(member)
            assert file is not None
            _write(file, f"{layout}/{name}")


def _write(file: IO[bytes], path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as copy:
        shutil.copyfileobj(file, copy, 1024**2)


def _names_of(entry: Entry) -> Sequence[str]:
    """As written, and in full."""
    annotations: Mapping[str, str] = entry.annotations
    names = [annotations[key] for key in _REF_NAMES if key in annotations]
    return [*names, *map(_full_name, names)]


def _full_name(text: str) -> str:
    """With registry and tag; a text that is no name stays as it is."""
    try:
        return str(source_of(Reference.parse(text), Registry.named("docker.io")))
    except BadReference:
        return text
