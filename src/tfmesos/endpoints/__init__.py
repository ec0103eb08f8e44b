"""What master and agent answer alike over HTTP, each a small piece that the program puts into its table of paths.

routes.py      which handler answers which path
pages.py       JSON pages (and JSONP), queries, forms, the calls in v1 requests or what refuses them
daemon.py      Daemon: /version, /flags, /health, /metrics, /logging/toggle, /system/stats.json
log_level.py   the level of the log, raised for a while
log_files.py   where a daemon's own log goes
files.py       VirtualFiles: files under virtual paths;  file_pages.py  /files/*
calls.py       DaemonCalls: the calls of the v1 operator API that both have
"""

from tfmesos.endpoints import models
from tfmesos.endpoints.calls import CallRefused, DaemonCalls, encoded
from tfmesos.endpoints.daemon import Daemon, version_info
from tfmesos.endpoints.file_pages import FilePages
from tfmesos.endpoints.files import Attached, Attachments, FileRefused, VirtualFiles
from tfmesos.endpoints.log_files import LogFile, LogFlags, written_log
from tfmesos.endpoints.log_level import LogLevel
from tfmesos.endpoints.pages import (
    RECORDIO,
    TEXT,
    form_of,
    json_page,
    method_refused,
    query_of,
    received_call,
    refused_head,
    whole_reply,
)
from tfmesos.endpoints.routes import Handler, Routes

__all__ = [
    "RECORDIO",
    "TEXT",
    "Attached",
    "Attachments",
    "CallRefused",
    "Daemon",
    "DaemonCalls",
    "FilePages",
    "FileRefused",
    "Handler",
    "LogFile",
    "LogFlags",
    "LogLevel",
    "Routes",
    "VirtualFiles",
    "encoded",
    "form_of",
    "json_page",
    "method_refused",
    "models",
    "query_of",
    "received_call",
    "refused_head",
    "version_info",
    "whole_reply",
    "written_log",
]
