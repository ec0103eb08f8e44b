"""Containers with a view of their own, made by an OCI runtime (runc, crun) that each container's supervisor starts.

runtime.py   what the containerizer calls        finding.py   which runtime, and whether it works here
bundle.py    what is made for a container        command.py   the command lines, and the shell before them (pure)
config.py    what the runtime is told (pure)     rights.py    what programs inherit from the agent
nodes.py     device nodes that come and go       execute/     gives a program any name
"""

from tfmesos.agent.oci.runtime import OciRuntime

__all__ = ["OciRuntime"]
