"""Where images come from."""

from __future__ import annotations

import pytest

from tfmesos.agent.images.reference import Reference
from tfmesos.agent.images.sources import InDirectory, InRegistry, Registry, parse_docker_registry, source_of
from tfmesos.flags import FlagError

_HUB = "https://registry-1.docker.io"


@pytest.mark.parametrize(
    ("default", "name", "source", "is_plain"),
    [
        (_HUB, "ubuntu", "docker://docker.io/library/ubuntu:latest", False),
        (_HUB, "nvidia/cuda:12", "docker://docker.io/nvidia/cuda:12", False),
        (_HUB, "docker.io/ubuntu", "docker://docker.io/library/ubuntu:latest", False),
        (_HUB, "index.docker.io/ubuntu", "docker://docker.io/library/ubuntu:latest", False),
        (_HUB, "ghcr.io/a/b", "docker://ghcr.io/a/b:latest", False),
        (_HUB, "127.0.0.1:5000/a", "docker://127.0.0.1:5000/a:latest", True),
        (_HUB, "localhost:5000/a", "docker://localhost:5000/a:latest", True),
        (_HUB, "localhost/a", "docker://localhost/a:latest", False),
        (_HUB, "h.io:80/a", "docker://h.io:80/a:latest", True),
        (_HUB, "h.io:443/a", "docker://h.io:443/a:latest", False),
        (_HUB, "h.io:5000/a", "docker://h.io:5000/a:latest", False),
        ("https://h.io:5000", "a", "docker://h.io:5000/a:latest", False),
        ("https://127.0.0.1:5000/v2/", "a", "docker://127.0.0.1:5000/a:latest", False),
        ("http://h.io", "a", "docker://h.io:80/a:latest", True),
        ("http://h.io:5000", "a", "docker://h.io:5000/a:latest", True),
        ("h.io:5000", "a", "docker://h.io:5000/a:latest", False),
        ("127.0.0.1:5000", "a", "docker://127.0.0.1:5000/a:latest", True),
        ("http://[::1]:5000", "a", "docker://[::1]:5000/a:latest", True),
        ("http://[::1]", "a", "docker://[::1]:80/a:latest", True),
        ("https://images", "a", "docker://images:443/a:latest", False),
        ("images", "a", "docker://images:443/a:latest", False),
        ("http://images", "a", "docker://images:80/a:latest", True),
        ("http://h.io:5000", "g.io/a", "docker://g.io/a:latest", False),
    ],
)
def test_a_registry_in_the_name_goes_before_the_agents(default: str, name: str, source: str, is_plain: bool) -> None:
    found = source_of(Reference.parse(name), parse_docker_registry(default))
    assert str(found) == source
    assert isinstance(found, InRegistry)
    assert found.registry.is_plain == is_plain


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("repo/img:tag", ["/images/repo/img:tag.tar"]),
        ("alpine", ["/images/alpine.tar", "/images/alpine:latest.tar"]),
        ("alpine:latest", ["/images/alpine:latest.tar", "/images/alpine.tar"]),
        ("h:5000/a", ["/images/h:5000/a.tar", "/images/h:5000/a:latest.tar"]),
    ],
)
def test_archives_are_looked_for_by_the_printed_name(name: str, paths: list[str]) -> None:
    found = source_of(Reference.parse(name), parse_docker_registry("/images/"))
    assert isinstance(found, InDirectory)
    assert list(found.paths) == paths


@pytest.mark.parametrize(
    "text", ["", "hdfs://h/x", "ftp://h", "https://", "https://h:x", "https://u:p@h", "https://h/p"]
)
def test_other_places_are_refused(text: str) -> None:
    with pytest.raises(FlagError):
        parse_docker_registry(text)


def test_all_of_docker_hub_is_one() -> None:
    assert {Registry.named(name).host for name in ("docker.io", "index.docker.io", "registry-1.docker.io")} == {
        "docker.io"
    }
    assert Registry.named("notdocker.io").host == "notdocker.io"
