"""What the master answers over HTTP: the v1 scheduler and operator APIs and the GET endpoints."""

from tfmesos.master.http.router import Router

__all__ = ["Router"]
