"""What scripts/check_gpu_machine.py runs in its tasks: `gpu_task.py look|train FILE` writes what it finds as JSON.

Any Python that has PyTorch or TensorFlow runs it; it needs nothing of TFMesos.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import sys
from pathlib import Path
from typing import Any


def look() -> dict[str, Any]:
    """What opens, what the environment names, how many GPUs CUDA counts (in words why it cannot)."""
    nodes = [path for path in map(str, Path("/dev").glob("nvidia*")) if re.search(r"/nvidia(\d+|ctl|-uvm)$", path)]
    return {
        "nodes": {path: _attempt(path) for path in nodes},
        "visible": os.getenv("CUDA_VISIBLE_DEVICES"),
        "cuda": _cuda(),
    }


def _attempt(path: str) -> str:
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "opens"


def _cuda() -> int | str:
    try:
        library, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        status = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError) as error:  # not there, or none of the driver's
        return str(error)
    return count.value if status in (0, 100) else f"cuInit answers {status}"  # 100: there is none


def train() -> dict[str, Any]:
    """The loss before and after one step, by the first framework that has a GPU; else why none has."""
    faults = [sys.executable]
    for framework in (_pytorch, _tensorflow):
        try:
            name, before, after = framework()
        except Exception as error:  # frameworks raise whatever they like
            faults.append(str(error).partition("\n")[0])
        else:
            return {"is_done": after < before, "text": f"{name}: loss {before:.4f}, after one step {after:.4f}"}
    return {"is_done": False, "text": "; ".join(faults)}


def _pytorch() -> tuple[str, float, float]:
    import torch  # type: ignore[import-not-found,unused-ignore]

    inputs, model = torch.ones(64, 8, device="cuda"), torch.nn.Linear(8, 1).cuda()
    before = ((model(inputs) - 1) ** 2).mean()
    before.backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    return f"PyTorch {torch.__version__}", float(before), float(((model(inputs) - 1) ** 2).mean())


def _tensorflow() -> tuple[str, float, float]:
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        raise LookupError(f"TensorFlow {tf.__version__} finds no GPU")
    with tf.device(gpus[0].name):
        inputs, weights = tf.ones((64, 8)), tf.Variable(tf.zeros((8, 1)))
        with tf.GradientTape() as tape:
            before = tf.reduce_mean((tf.matmul(inputs, weights) - 1) ** 2)
        weights.assign_sub(0.01 * tape.gradient(before, weights))
        after = tf.reduce_mean((tf.matmul(inputs, weights) - 1) ** 2)
    return f"TensorFlow {tf.__version__}", float(before), float(after)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps({"look": look, "train": train}[sys.argv[1]]()))
