"""Names of images."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.agent.images.errors import BadReference
from tfmesos.agent.images.reference import Reference

_DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("ubuntu", None, "ubuntu", None, None),
        ("ubuntu:22.04", None, "ubuntu", "22.04", None),
        ("library/ubuntu:latest", None, "library/ubuntu", "latest", None),
        ("localhost/x", "localhost", "x", None, None),
        ("localhost:5000/x:1", "localhost:5000", "x", "1", None),
        ("127.0.0.1:5000/a/b/c:1", "127.0.0.1:5000", "a/b/c", "1", None),
        ("ghcr.io/a/b@" + _DIGEST, "ghcr.io", "a/b", None, _DIGEST),
        ("ghcr.io/a/b:1@" + _DIGEST, "ghcr.io", "a/b", "1", _DIGEST),
        ("nvidia/cuda", None, "nvidia/cuda", None, None),
        ("[::1]:5000/x", "[::1]:5000", "x", None, None),
        ("a__b/c-d.e", None, "a__b/c-d.e", None, None),
    ],
)
def test_a_name_says_registry_repository_tag_and_digest(
    text: str, registry: str | None, repository: str, tag: str | None, digest: str | None
) -> None:
    assert Reference.parse(text) == Reference(registry=registry, repository=repository, tag=tag, digest=digest)


def test_a_name_is_printed_as_mesos_does() -> None:
    assert str(Reference.parse("ubuntu")) == "ubuntu", "no tag was said, none is printed"
    assert str(Reference.parse("h:1/a/b:c")) == "h:1/a/b:c"
    assert str(Reference.parse("a:1@" + _DIGEST)) == "a@" + _DIGEST, "a digest goes before a tag"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'' is no repository"),
        ("Ubuntu", "'Ubuntu' is no repository: small letters and digits are wanted"),
        ("a@sha256:1@sha256:2", "is no digest"),
        ("a@sha256:12", "'sha256:12' is no digest"),
        ("a:", "'' is no tag"),
        ("a:b:c", "is no repository"),
        ("../../etc/passwd", "'..' is no registry"),
        ("x/../y", "is no repository"),
        ("/etc/passwd", "is no repository"),
        ("a b", "is no repository"),
        ("--tls-verify=false", "is no repository"),
        ("a\n", "is no repository"),
        ("h.io:x/y", "'h.io:x' is no registry"),
        ("a" * 300, "is no repository"),
    ],
)
def test_what_is_no_name_is_refused_with_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(BadReference, match="Failed to parse docker image") as raised:
        Reference.parse(text)
    assert reason in str(raised.value)


_WORDS = st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+)?", fullmatch=True)
_REFERENCES = st.builds(
    Reference,
    registry=st.none() | st.sampled_from(["localhost", "h.io", "h:5000", "127.0.0.1:80"]),
    repository=st.lists(st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)?", fullmatch=True), min_size=1, max_size=4).map("/".join),
    tag=st.none() | _WORDS,
)


@given(_REFERENCES)
def test_what_is_printed_is_the_same_name(reference: Reference) -> None:
    assert reference.repository.startswith("localhost/") or Reference.parse(str(reference)) == reference
