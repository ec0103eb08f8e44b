"""Container images for tests, made in milliseconds by Python alone, in every form that registries and archives have.

`busybox_image()` is the usual one: a shell and its tools, 2 MB. `Image(layers=layers_of({…}), …)` is any other.
"""

from tests.images.archives import oci_archive, saved_archive, saved_v1_archive
from tests.images.content import Directory, Entry, File, Node, Opaque, Symlink, Whiteout
from tests.images.image import Image, busybox_image, cuda_image, glibc_layer, layers_of
from tests.images.layers import Compression, Layer
from tests.images.packed import Form, Packed, pack

__all__ = [
    "Compression",
    "Directory",
    "Entry",
    "File",
    "Form",
    "Image",
    "Layer",
    "Node",
    "Opaque",
    "Packed",
    "Symlink",
    "Whiteout",
    "busybox_image",
    "cuda_image",
    "glibc_layer",
    "layers_of",
    "oci_archive",
    "pack",
    "saved_archive",
    "saved_v1_archive",
]
