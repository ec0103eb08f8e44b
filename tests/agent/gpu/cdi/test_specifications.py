"""CDI: what the files say, and which of their devices a unit is."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tests.agent.gpu.units import unit
from tfmesos.agent.gpu.cdi import BadSpecification, SpecificationFiles, edits_for, parse
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.isolators import Hook, Mount

SPECIFICATION = """---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
        - path: /dev/dri/renderD128
          permissions: rw
  - name: "1"
    containerEdits:
      deviceNodes:
        - {path: /dev/nvidia1}
  - name: "1:0"
    containerEdits:
      deviceNodes:
        - {path: /dev/nvidia1}
        - {path: /dev/nvidia-caps/nvidia-cap107, major: 236, minor: 107, type: c, fileMode: 292}
  - name: all
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
        - path: /dev/nvidia1
containerEdits:
  env:
    - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
    - path: /dev/nvidiactl
    - path: /dev/nvidia-modeset
  mounts:
    - containerPath: /usr/bin/nvidia-smi
      hostPath: /opt/driver/bin/nvidia-smi
      options: [ro, nosuid, nodev, bind]
  hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib]
      timeout: 5
"""
COMMON = ["/dev/nvidiactl", "/dev/nvidia-modeset"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "etc/cdi/nvidia.yaml", SPECIFICATION)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_card_is_the_device_with_just_its_node(root: Path) -> None:
    edits = edits_for([unit(0)], SpecificationFiles(root).read())

    assert [node.path for node in edits.nodes] == [*COMMON, "/dev/nvidia0", "/dev/dri/renderD128"]
    assert edits.nodes[-1].permissions == "rw"
    assert edits.environment == ("NVIDIA_VISIBLE_DEVICES=void",)
    assert edits.mounts == (
        Mount(
            source="/opt/driver/bin/nvidia-smi", target="/usr/bin/nvidia-smi", options=("ro", "nosuid", "nodev", "bind")
        ),
    )
    assert edits.hooks == (
        Hook(
            stage="createContainer",
            path="/usr/bin/nvidia-cdi-hook",
            arguments=("nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib"),
            timeout_s=5,
        ),
    )


def test_a_mig_instance_is_the_device_with_its_cap(root: Path) -> None:
    edits = edits_for([unit(1, (7, 0))], SpecificationFiles(root).read())

    assert [node.path for node in edits.nodes] == [*COMMON, "/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap107"]
    assert (edits.nodes[-1].major, edits.nodes[-1].minor, edits.nodes[-1].mode) == (236, 107, 0o444)


def test_several_cards_bring_what_is_common_once(root: Path) -> None:
    edits = edits_for([unit(1), unit(0)], SpecificationFiles(root).read())

    assert [node.path for node in edits.nodes] == [*COMMON, "/dev/nvidia0", "/dev/dri/renderD128", "/dev/nvidia1"]
    assert len(edits.hooks) == 1


def test_without_cards_only_what_is_common_comes(root: Path) -> None:
    assert [node.path for node in edits_for([], SpecificationFiles(root).read()).nodes] == COMMON


def test_what_was_made_since_the_start_of_the_machine_comes_first(root: Path) -> None:
    device = {"name": "GPU-0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}], "env": ["NEW=1"]}}
    fresh = {"cdiVersion": "0.7.0", "kind": "nvidia.com/gpu", "devices": [device]}
    write(root / "var/run/cdi/nvidia.json", json.dumps(fresh))

    assert edits_for([unit(0)], SpecificationFiles(root).read()).environment == ("NEW=1",)
    assert edits_for([unit(1)], SpecificationFiles(root).read()).environment == ("NVIDIA_VISIBLE_DEVICES=void",)


def test_a_unit_that_no_device_is_is_named_with_its_nodes(root: Path) -> None:
    with pytest.raises(GpuError, match=r"just the nodes of GPU-2 \(/dev/nvidia2\)"):
        edits_for([unit(2)], SpecificationFiles(root).read())
    with pytest.raises(GpuError, match=r"no CDI specification of nvidia\.com/gpu"):
        edits_for([unit(2)], [])


def test_edits_that_cannot_be_made_are_refused_by_name() -> None:
    device = {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}], "intelRdt": {"closID": "x"}}}
    specification = parse({"cdiVersion": "0.7.0", "kind": "nvidia.com/gpu", "devices": [device]})

    with pytest.raises(GpuError, match="cannot be done here: intelRdt"):
        edits_for([unit(0)], [specification])


def test_files_that_are_none_are_told_and_left_out(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, text in {"a.json": "{", "b.yaml": "a: [", "c.yml": "- 1", "d.json": "{}", "e.txt": "?"}.items():
        write(root / "etc/cdi" / name, text)
    (root / "etc/cdi/f.json").symlink_to("nowhere")

    with caplog.at_level(logging.WARNING):
        files = SpecificationFiles(root)
        assert len(files.read()) == 1
        assert len(files.read()) == 1

    assert len(caplog.records) == 4  # once each


def test_a_file_that_is_written_anew_is_read_anew(root: Path) -> None:
    files = SpecificationFiles(root)
    assert edits_for([unit(0)], files.read()).environment == ("NVIDIA_VISIBLE_DEVICES=void",)

    (root / "etc/cdi/nvidia.yaml").write_text(SPECIFICATION.replace("=void", "=none"))

    assert edits_for([unit(0)], files.read()).environment == ("NVIDIA_VISIBLE_DEVICES=none",)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"cdiVersion": "2.0.0"}, "'2.0.0'"),
        ({"kind": 1}, "kind is 1"),
        ({"devices": {"0": {}}}, "devices is no list"),
        ({"containerEdits": {"hooks": [{"hookName": "later", "path": "/x"}]}}, "hookName is 'later'"),
        ({"containerEdits": {"deviceNodes": [{"path": "/dev/x", "major": "1"}]}}, "major is '1'"),
        ({"containerEdits": {"deviceNodes": [{"path": "/dev/x", "permissions": "rx"}]}}, "permissions is 'rx'"),
        ({"containerEdits": {"env": [1]}}, "env is no list of texts"),
        ({"containerEdits": {"mounts": [{"hostPath": "/x"}]}}, "containerPath is None"),
    ],
)
def test_what_is_wrong_is_named(value: dict[str, object], text: str) -> None:
    whole = {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", **value}
    with pytest.raises(BadSpecification, match=text):
        parse(whole)


def test_without_directories_there_are_none(tmp_path: Path) -> None:
    assert SpecificationFiles(tmp_path).read() == []
