"""What goes wrong with cgroups.

TfmesosError
  CgroupError            a cgroup cannot be made, changed or removed; the text names the path and the kernel's reason
    BadDeviceRule        a rule for device nodes that no kernel would take; nothing was changed
"""

from tfmesos.errors import TfmesosError


class CgroupError(TfmesosError):
    """A cgroup cannot be made, changed or removed."""


class BadDeviceRule(CgroupError):
    """A rule for device nodes is malformed."""
