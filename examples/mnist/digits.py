"""The handwritten digits of MNIST, read from its idx files.

A directory holds the original four files, or only the `t10k` pair as the one beside this file does. Then its first
8,000 digits are for training and its last 2,000 are held out. Files may be gzipped (`.gz`) or not.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
DEFAULT_DIRECTORY = HERE / "data"
HELD_OUT_OF_T10K = 2_000
PIXELS = 28 * 28
CLASSES = 10
# The third byte of an idx file is the type of its values, 8 for unsigned bytes; the fourth counts its dimensions.
UNSIGNED_BYTES = 8

Batch = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]


@dataclass(frozen=True, kw_only=True)
class Digits:
    """Images as rows of 784 numbers from 0 to 1, and what they show."""

    images: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, size: int, seed: int) -> Iterator[Batch]:
        """Batches without end, in an order that depends on the seed; the digits are shuffled anew in each round.

        Ends the program with a text when there are not that many digits.
        """
        if not 1 <= size <= len(self):
            raise SystemExit(f"batch size {size} is not between 1 and {len(self)}, the number of digits")
        return self._shuffled(size, seed)

    def _shuffled(self, size: int, seed: int) -> Iterator[Batch]:
        random = np.random.default_rng(seed)
        while True:
            order = random.permutation(len(self))
            for start in range(0, len(self) - size + 1, size):
                chosen = order[start : start + size]
                yield self.images[chosen], self.labels[chosen]


def load(directory: str | Path = DEFAULT_DIRECTORY) -> tuple[Digits, Digits]:
    """The digits for training and those held out. Ends the program with a text when a file is missing or broken."""
    directory = Path(directory)
    t10k = _read_pair(directory, "t10k")
    if _find(directory, "train-images-idx3-ubyte") is not None:
        return _read_pair(directory, "train"), t10k
    split = len(t10k) - HELD_OUT_OF_T10K
    return (
        Digits(images=t10k.images[:split], labels=t10k.labels[:split]),
        Digits(images=t10k.images[split:], labels=t10k.labels[split:]),
    )


def _read_pair(directory: Path, name: str) -> Digits:
    images = _read_idx(directory, f"{name}-images-idx3-ubyte")
    labels = _read_idx(directory, f"{name}-labels-idx1-ubyte")
    if len(images) != len(labels):
        raise SystemExit(f"{directory} holds {len(images)} {name} images but {len(labels)} labels")
    return Digits(
        images=images.reshape(len(images), PIXELS).astype(np.float32) / np.float32(255),
        labels=labels.astype(np.int32),
    )


def _find(directory: Path, name: str) -> Path | None:
    return next((path for path in (directory / name, directory / f"{name}.gz") if path.exists()), None)


def _read_idx(directory: Path, name: str) -> npt.NDArray[np.uint8]:
    path = _find(directory, name)
    if path is None:
        raise SystemExit(f"no digits here: neither {name} nor {name}.gz is in {directory}")
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if len(data) < 4 or data[0] or data[1] or data[2] != UNSIGNED_BYTES:
        raise SystemExit(f"{path} is not an idx file of unsigned bytes")
    header = 4 + 4 * data[3]
    shape = struct.unpack(f">{data[3]}I", data[4:header])
    values = np.frombuffer(data, np.uint8, offset=header)
    if values.size != np.prod(shape):
        raise SystemExit(f"{path} is cut: {values.size} values where its header promises {np.prod(shape)}")
    return values.reshape(shape)
