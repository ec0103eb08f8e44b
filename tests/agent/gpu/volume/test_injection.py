"""Which images get the volume (Mesos 1.11: NvidiaGpuTest.VolumeShouldInject; G15), and what they are told (G14)."""

from collections.abc import Mapping

import pytest

from tfmesos.agent.gpu.volume import should_inject, volume_environment


@pytest.mark.parametrize(
    ("label", "expected"), [("com.nvidia.volumes.needed", True), ("com.ati.volumes.needed", False)]
)
def test_a_label_asks_for_the_volume(label: str, expected: bool) -> None:
    assert should_inject([], {label: "nvidia_driver"}, has_gpus=False) is expected


@pytest.mark.parametrize("value", ["all", "none", "0,1", "GPU-1"])
def test_a_variable_asks_for_the_volume(value: str) -> None:
    assert should_inject(["A=b", f"NVIDIA_VISIBLE_DEVICES={value}"], {}, has_gpus=False)


@pytest.mark.parametrize("value", ["", "void"])
def test_an_image_that_wants_none_gets_none_whatever_else_is_said(value: str) -> None:
    environment = [f"NVIDIA_VISIBLE_DEVICES={value}", "NVIDIA_VISIBLE_DEVICES=all"]

    assert not should_inject(environment, {"com.nvidia.volumes.needed": ""}, has_gpus=True)


@pytest.mark.parametrize("has_gpus", [True, False])
def test_an_image_that_says_nothing_gets_the_volume_with_gpus(has_gpus: bool) -> None:
    """`NAME` without a value is no entry."""
    assert should_inject(["PATH=/bin", "NVIDIA_VISIBLE_DEVICES"], {"maintainer": "x"}, has_gpus=has_gpus) is has_gpus


@pytest.mark.parametrize("image", [{}, {"PATH": "", "LD_LIBRARY_PATH": ""}])
def test_an_image_without_a_path_keeps_the_usual_one(image: Mapping[str, str]) -> None:
    assert volume_environment(image, {}) == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/nvidia/bin",
        "LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    }


def test_the_images_own_come_first() -> None:
    told = volume_environment({"PATH": "/opt/bin:/bin", "LD_LIBRARY_PATH": "/opt/lib"}, {})

    assert told["PATH"] == "/opt/bin:/bin:/usr/local/nvidia/bin"
    assert told["LD_LIBRARY_PATH"] == "/opt/lib:/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64"


def test_what_the_command_says_counts_before_the_image_and_is_extended() -> None:
    told = volume_environment({"LD_LIBRARY_PATH": "/image"}, {"LD_LIBRARY_PATH": "/users", "PATH": "/users/bin"})

    assert told["PATH"] == "/users/bin:/usr/local/nvidia/bin"
    assert told["LD_LIBRARY_PATH"].split(":")[:2] == ["/users", "/usr/local/cuda/compat"]


def test_nothing_is_named_twice() -> None:
    image = {"PATH": "/usr/local/nvidia/bin:/bin", "LD_LIBRARY_PATH": ":/usr/local/nvidia/lib64:"}

    assert volume_environment(image, {}) == {
        "PATH": "/usr/local/nvidia/bin:/bin",
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/local/cuda/compat:/usr/local/nvidia/lib",
    }
