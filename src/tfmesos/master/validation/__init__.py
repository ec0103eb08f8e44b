"""What the master refuses and with which text (Mesos 1.11: src/master/validation.cpp). Pure."""

from tfmesos.master.validation.agents import agent_error, return_error
from tfmesos.master.validation.calls import call_error
from tfmesos.master.validation.constraints import constraints_error
from tfmesos.master.validation.executors import LaunchContext
from tfmesos.master.validation.frameworks import (
    FrameworkRules,
    framework_error,
    framework_roles,
    update_error,
)
from tfmesos.master.validation.groups import group_error
from tfmesos.master.validation.names import id_error, role_error
from tfmesos.master.validation.operations import operation_error
from tfmesos.master.validation.tasks import task_error

__all__ = [
    "FrameworkRules",
    "LaunchContext",
    "agent_error",
    "call_error",
    "constraints_error",
    "framework_error",
    "framework_roles",
    "group_error",
    "id_error",
    "operation_error",
    "return_error",
    "role_error",
    "task_error",
    "update_error",
]
