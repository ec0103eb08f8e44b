"""The registries of tests take every form of image, and skopeo gets it back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.images import Compression, Form, busybox_image, pack
from tests.registry import Credentials, FakeRegistry, Registry, StartRegistry


def _skopeo(*arguments: str | Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, **(environment or {})}
    return subprocess.run(["skopeo", *arguments], capture_output=True, text=True, env=whole)


@pytest.mark.parametrize(
    ("form", "compression"),
    [("docker", "gzip"), ("docker-list", "gzip"), ("oci", "zstd"), ("oci", "none"), ("oci-index", "zstd")],
)
def test_serves_every_form(registry: Registry, form: Form, compression: Compression) -> None:
    # Given an image in a registry
    packed = pack(busybox_image(labels={"form": form}), form, compression=compression)
    digest = registry.push(packed, f"forms/{form}:{compression}")
    # When it is asked for by its digest
    name = f"docker://{registry.host}/forms/{form}@{digest}"
    answer = _skopeo("inspect", "--tls-verify=false", "--override-arch=amd64", name)
    # Then it is there
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["Labels"] == {"form": form}
    assert registry.pulls_of(f"forms/{form}") > 0


def test_wants_tls_and_a_password(start_registry: StartRegistry, tmp_path: Path) -> None:
    # Given a registry with both
    registry = start_registry(has_tls=True, credentials=Credentials())
    registry.push(busybox_image(), "it:1")
    (tmp_path / "config.json").write_text(registry.docker_config)
    trust = {"SSL_CERT_FILE": str(registry.certificate)}
    name = f"docker://{registry.host}/it:1"
    # Then it is read by who trusts it and knows the password, and by nobody else
    assert _skopeo("inspect", f"--authfile={tmp_path}/config.json", name, environment=trust).returncode == 0
    assert _skopeo("inspect", f"--authfile={tmp_path}/config.json", name).returncode != 0
    assert _skopeo("inspect", name, environment=trust).returncode != 0


def test_a_fake_wants_tokens(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # Given a registry that lets in by tokens alone, redirects, and has had enough twice
    fake_registry.put(busybox_image(), "deep/in/it:1")
    fake_registry.challenge, fake_registry.is_redirecting = "bearer", True
    fake_registry.too_many = 2
    # When skopeo copies an image
    name = f"docker://{fake_registry.host}/deep/in/it:1"
    answer = _skopeo("copy", "--src-tls-verify=false", name, f"dir:{tmp_path}/it")
    # Then it has asked for a token and got the image
    assert answer.returncode == 0, answer.stderr
    assert "/token" in [asked.path for asked in fake_registry.asked]
    assert fake_registry.too_many == 0
