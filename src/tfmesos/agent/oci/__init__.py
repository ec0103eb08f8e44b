"""Containers with a view of their own, made by an OCI runtime (runc, crun) that each container's supervisor starts."""

from tfmesos.agent.oci.runtime import OciRuntime

__all__ = ["OciRuntime"]
