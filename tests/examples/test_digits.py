"""The digits of the examples: complete, split as promised, and refused with a text when they are not there."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import struct
import sys
from pathlib import Path

import pytest

MNIST = Path(__file__).parents[2] / "examples" / "mnist"
CANONICAL = {
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}

pytest.importorskip("numpy")
sys.path.insert(0, str(MNIST))
import digits  # noqa: E402


def write_idx(path: Path, shape: tuple[int, ...], data: bytes) -> None:
    path.write_bytes(bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data)


@pytest.mark.parametrize("name", CANONICAL)
def test_the_files_are_the_original_ones(name: str) -> None:
    data = gzip.decompress((MNIST / "data" / f"{name}.gz").read_bytes())

    assert hashlib.md5(data, usedforsecurity=False).hexdigest() == CANONICAL[name]


def test_of_the_t10k_pair_2000_are_held_out() -> None:
    training, held_out = digits.load()

    assert (len(training), len(held_out)) == (8_000, 2_000)
    assert training.images.shape == (8_000, 784)
    assert (training.images.min(), training.images.max()) == (0.0, 1.0)
    assert set(held_out.labels) == set(range(10))


def test_with_four_files_all_of_t10k_is_held_out(tmp_path: Path) -> None:
    for name in CANONICAL:
        shutil.copy(MNIST / "data" / f"{name}.gz", tmp_path)
    write_idx(tmp_path / "train-images-idx3-ubyte", (3, 28, 28), bytes(3 * 784))
    write_idx(tmp_path / "train-labels-idx1-ubyte", (3,), bytes([7, 8, 9]))

    training, held_out = digits.load(tmp_path)

    assert (len(training), len(held_out)) == (3, 10_000)
    assert list(training.labels) == [7, 8, 9]


def test_batches_go_through_all_digits_before_one_comes_again() -> None:
    training, _ = digits.load()
    batches = training.batches(1_000, seed=1)

    labels = [label for _ in range(8) for label in next(batches)[1].tolist()]

    assert sorted(labels) == sorted(training.labels.tolist())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"neither t10k-images-idx3-ubyte nor .* is in {tmp_path}"):
        digits.load(tmp_path)


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    write_idx(tmp_path / "t10k-images-idx3-ubyte", (3, 28, 28), bytes(100))

    with pytest.raises(SystemExit, match="is cut: 100 values where its header promises 2352"):
        digits.load(tmp_path)


def test_a_batch_larger_than_the_digits_is_refused() -> None:
    training, _ = digits.load()

    with pytest.raises(SystemExit, match="batch size 8001 is not between 1 and 8000"):
        training.batches(8_001, seed=1)  # at once: in a thread nobody would see it
