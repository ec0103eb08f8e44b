"""Arithmetic on resources and attributes in integer thousandths; parse and print. Pure."""

from tfmesos.resources._bag import Resources, scalars
from tfmesos.resources._entry import Entry, Key, Reservation
from tfmesos.resources._formats import resource_text, thousandths, validate, validate_gpus
from tfmesos.resources._ranges import Ranges
from tfmesos.resources._text import parse_attributes
from tfmesos.resources.errors import ResourcesError

__all__ = [
    "Entry",
    "Key",
    "Ranges",
    "Reservation",
    "Resources",
    "ResourcesError",
    "parse_attributes",
    "resource_text",
    "scalars",
    "thousandths",
    "validate",
    "validate_gpus",
]
