"""Training frameworks: one small file each, and the table of those that every task is wired for."""

from tfmesos.launcher.frameworks.framework import TrainingFramework
from tfmesos.launcher.frameworks.plain import PlainFramework
from tfmesos.launcher.frameworks.tensorflow import TensorFlowFramework

__all__ = ["FRAMEWORKS", "PlainFramework", "TensorFlowFramework", "TrainingFramework"]

FRAMEWORKS: tuple[TrainingFramework, ...] = (PlainFramework(), TensorFlowFramework())
"""In order; a later one wins where two set the same variable."""
