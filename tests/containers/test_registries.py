"""Tasks with images out of real registries: every form that an image has, over http, and over TLS with a password."""

from __future__ import annotations

import pytest

from tests.containers.conftest import StartImageCluster
from tests.images import Compression, File, Form, Packed, busybox_image, pack
from tests.registry import Credentials, Registry, StartRegistry

FORMS: tuple[tuple[Form, Compression], ...] = (
    ("docker", "gzip"), ("docker-list", "gzip"), ("oci", "gzip"), ("oci-index", "gzip"), ("oci-index", "zstd"),
)  # fmt: skip


def _image(name: str, form: Form, compression: Compression) -> Packed:
    return pack(busybox_image({"etc/name": File(content=name.encode())}), form, compression=compression)


def test_one_of_every_form_runs(start_image_cluster: StartImageCluster, registry: Registry) -> None:
    # Given a registry with an image for each form, of which some are for two kinds of machines
    names = [f"{form}-{compression}" for form, compression in FORMS]
    for name, (form, compression) in zip(names, FORMS, strict=True):
        registry.push(_image(name, form, compression), f"runs/{name}:1")
    cluster = start_image_cluster(f"--docker_registry={registry.url}")
    # When a task runs in each
    for name in names:
        executed = cluster.execute("cat /etc/name", f"--docker_image=runs/{name}:1", name=name)
        assert executed.status == 0, executed.text
    # Then it was that image
    assert cluster.outputs() == names
    assert cluster.wait_nothing_left() == []


def test_a_password_over_tls(
    start_image_cluster: StartImageCluster, start_registry: StartRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a registry that wants both, and an agent that trusts it and knows the password
    registry = start_registry(has_tls=True, credentials=Credentials())
    digest = registry.push(_image("secret", "oci-index", "zstd"), "deep/in/there:1")
    monkeypatch.setenv("SSL_CERT_FILE", str(registry.certificate))
    cluster = start_image_cluster(f"--docker_registry={registry.url}", f"--docker_config={registry.docker_config}")
    # When tasks want the image by its tag, by its digest, and one that is not there
    by_tag = cluster.execute("cat /etc/name", "--docker_image=deep/in/there:1")
    by_digest = cluster.execute("cat /etc/name", f"--docker_image={registry.host}/deep/in/there@{digest}")
    absent = cluster.execute("true", "--docker_image=not/there:2")
    # Then the first two have it, and the other knows why not
    assert (by_tag.status, by_digest.status) == (0, 0), by_tag.text + by_digest.text
    assert absent.status == 1
    assert "TASK_FAILED" in absent.text
    assert "reason: REASON_CONTAINER_LAUNCH_FAILED" in absent.text
    assert "source: SOURCE_AGENT" in absent.text
    assert "'not/there:2'" in absent.text
    assert registry.host in absent.text
    # And nobody has heard the password
    said = absent.text + (cluster.directory / "agent.log").read_text() + str(cluster.get("/state"))
    assert Credentials().password not in said
    assert Credentials().basic not in said
