"""Where bytes come from."""

from __future__ import annotations

import base64
import contextlib
import ftplib
import http.client
import os
import shutil
import ssl
import urllib.error
import urllib.request
from typing import BinaryIO
from urllib.parse import unquote, urlsplit, urlunsplit

from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.ftp import FtpAnswer, FtpHandler
from tfmesos.agent.fetch_program.job import Item, Job
from tfmesos.agent.fetch_program.places import Place
from tfmesos.version import __version__

_CHUNK = 1024 * 1024
_NET = ("http", "https", "ftp")
# Where the distributions keep the certificates they trust, for a Python that was built elsewhere.
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def write_source(item: Item, job: Job, place: Place) -> None:
    """Write what a URI leads to under the item's name. Raises FetchError, OSError."""
    scheme, separator, _ = item.uri.partition("://")
    if item.source is not None:
        _copy(item.source, item, place)
    elif separator and scheme in _NET:
        _download(item, job.stall_timeout_s, place)
    elif separator and scheme != "file":
        raise FetchError(f"the scheme {scheme!r} is not supported; it can be file, http, https or ftp")
    else:
        _copy(_local_path(item.uri, job.frameworks_home), item, place)


def _local_path(uri: str, frameworks_home: str | None) -> str:
    """Mesos 1.11: a path, `file://` and a path with or without `localhost`, or one relative to --frameworks_home."""
    path = uri.removeprefix("file://").removeprefix("localhost") if uri.startswith("file://") else uri
    if path.startswith("/"):
        return path
    if uri.startswith("file://"):
        raise FetchError("a file URI has the form file:///path")
    if frameworks_home is None:
        raise FetchError("a relative path needs an agent with --frameworks_home")
    return f"{frameworks_home}/{path}"


def _copy(path: str, item: Item, place: Place) -> None:
    if os.path.isdir(path):
        _copy_directory(path, item.name, place)
        return
    if not os.path.isfile(path):
        raise FetchError(f"there is no file {path!r}")
    with open(path, "rb") as source, place.create(item.name, os.fstat(source.fileno()).st_mode & 0o777 | 0o600) as file:
        shutil.copyfileobj(source, file, _CHUNK)


def _copy_directory(path: str, name: str, place: Place) -> None:
    """With all below it; links are copied as such and must not lead out."""
    place.make_directory(name)
    with os.scandir(path) as entries:
        for entry in entries:
            inner = f"{name}/{entry.name}"
            if entry.is_symlink():
                place.symlink(inner, os.readlink(entry.path))
            elif entry.is_dir():
                _copy_directory(entry.path, inner, place)
            else:
                _copy(entry.path, Item(uri=entry.path, name=inner), place)


def _download(item: Item, stall_timeout_s: float, place: Place) -> None:
    try:
        with _opener().open(_request(item.uri), timeout=stall_timeout_s) as answer:
            if answer.status not in (None, 200):  # ftp has none
                raise FetchError(f"Error downloading resource, received HTTP return code {answer.status}")
            with place.create(item.name) as file:
                _receive(answer, file, item.limit)
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(f"Error downloading resource, received HTTP return code {error.code}") from None
    except TimeoutError as error:
        raise FetchError(f"Error downloading resource: nothing came for {stall_timeout_s:g} s") from error
    except urllib.error.URLError as error:
        reason = "nothing came in time" if isinstance(error.reason, TimeoutError) else error.reason
        raise FetchError(f"Error downloading resource: {reason}") from error
    except ftplib.Error as error:
        raise FetchError(f"Error downloading resource: the server said {' '.join(str(error).split())!r}") from error
    except EOFError as error:
        raise FetchError("Error downloading resource: the server left") from error
    except http.client.InvalidURL as error:  # its text quotes what may be secret
        raise FetchError("Error downloading resource: it is no valid URL") from error
    except (http.client.HTTPException, UnicodeError) as error:
        reason = " ".join(str(error).split())  # it may quote a line of the answer, with its end
        raise FetchError(f"Error downloading resource: {type(error).__name__}: {reason}") from error
    except ValueError as error:
        raise FetchError("Error downloading resource: it is no valid URL") from error


def _receive(answer: http.client.HTTPResponse | FtpAnswer, file: BinaryIO, limit: int | None) -> None:
    wanted = answer.headers.get("Content-Length")
    count = 0
    while data := answer.read(_CHUNK):
        count += len(data)
        if limit is not None and count > limit:
            raise FetchError(f"it has more than {limit} bytes")
        file.write(data)
    if wanted is not None and wanted.isdigit() and count != int(wanted):
        raise FetchError(f"Error downloading resource: the connection ended after {count} of {wanted} bytes")


def _request(uri: str) -> urllib.request.Request:
    """A name and password in the URI become a header, as every other client does it."""
    split = urlsplit(uri)
    headers = {"User-Agent": f"tfmesos/{__version__}"}
    login, at, host = split.netloc.rpartition("@")
    if not at or split.scheme == "ftp":
        return urllib.request.Request(uri, headers=headers)
    request = urllib.request.Request(urlunsplit(split._replace(netloc=host)), headers=headers)
    token = base64.b64encode(unquote(login).encode()).decode()
    request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _opener() -> urllib.request.OpenerDirector:
    """Knows http, https and ftp, and redirects among them: no `file:` or `data:` comes in through a redirect."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_tls()),
        FtpHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and ssl.get_default_verify_paths().capath is None:
        for path in _CERTIFICATES:
            with contextlib.suppress(OSError):
                context.load_verify_locations(path)
                break
    return context
