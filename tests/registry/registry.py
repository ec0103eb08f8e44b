"""A real docker-registry."""

from __future__ import annotations

import base64
import ctypes
import json
import shutil
import signal
import ssl
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.images import Image, Packed, pack
from tests.ports import free_port
from tests.registry.upload import upload

_CONFIG = """\
version: 0.1
log: {{level: info, accesslog: {{disabled: false}}}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}, delete: {{enabled: true}}}}
http:
  addr: 127.0.0.1:{port}
{more}
"""
_TLS = "  tls: {{certificate: {folder}/server.crt, key: {folder}/server.key}}\n"
_AUTH = "auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}\n"


@dataclass(frozen=True)
class Credentials:
    """A name and a password that must be in no log."""

    user: str = "somebody"
    password: str = "not-to-be-seen-4711"

    @property
    def basic(self) -> str:
        """Of the header Authorization, and `auth` of a docker config file."""
        return base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def missing_for_registry(*, has_tls: bool = False, credentials: Credentials | None = None) -> str | None:
    """Why there can be no registry here."""
    wanted = ["docker-registry", *(["openssl"] if has_tls else []), *(["htpasswd"] if credentials else [])]
    missing = [program for program in wanted if shutil.which(program) is None]
    return f"the registry of tests needs {', '.join(missing)}" if missing else None


class Registry:
    """It runs on loopback until `stop`."""

    def __init__(self, folder: Path, *, has_tls: bool = False, credentials: Credentials | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.credentials = credentials
        self.certificate = folder / "server.crt" if has_tls else None
        """Also the authority to be trusted."""
        self._write_files()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["docker-registry", "serve", folder / "config.yml"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
            )
        self._wait_ready()

    @property
    def host(self) -> str:
        """What image names begin with: `{host}/repository:tag`."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """For `--docker_registry`."""
        return f"{'http' if self.certificate is None else 'https'}://{self.host}"

    @property
    def log(self) -> Path:
        """Each request is a line."""
        return self.folder / "log"

    @property
    def docker_config(self) -> str:
        """The text of a docker config file that lets into this registry."""
        auths = {} if self.credentials is None else {self.host: {"auth": self.credentials.basic}}
        return json.dumps({"auths": auths})

    def push(self, image: Image | Packed, reference: str) -> str:
        """`repository:tag`, where the image's name without the host. Its digest."""
        packed = pack(image) if isinstance(image, Image) else image
        repository, _, tag = reference.partition(":")
        upload(self.url, repository, tag or "latest", packed, headers=self._headers, tls=self._tls)
        return packed.digest

    def pulls_of(self, repository: str) -> int:
        """How often a manifest has been asked for by GET."""
        lines = self.log.read_text(errors="replace").splitlines()
        return sum(f'"GET /v2/{repository}/manifests/' in line for line in lines)

    def stop(self) -> None:
        """May be called again."""
        self.process.kill()
        self.process.wait()

    @property
    def _headers(self) -> dict[str, str]:
        return {} if self.credentials is None else {"Authorization": f"Basic {self.credentials.basic}"}

    @property
    def _tls(self) -> ssl.SSLContext | None:
        return None if self.certificate is None else ssl.create_default_context(cafile=str(self.certificate))

    def _write_files(self) -> None:
        more = ""
        if self.certificate is not None:
            more += _TLS
            _make_certificate(self.folder)
        if self.credentials is not None:
            more += _AUTH
            names = ["htpasswd", "-Bbn", self.credentials.user, self.credentials.password]
            (self.folder / "htpasswd").write_bytes(subprocess.run(names, check=True, capture_output=True).stdout)
        text = _CONFIG.format(folder=self.folder, port=self.port, more=more.format(folder=self.folder))
        (self.folder / "config.yml").write_text(text)

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urlopen(Request(f"{self.url}/v2/", headers=self._headers), timeout=5, context=self._tls):
                    return
            except HTTPError:
                raise
            except OSError:
                time.sleep(0.02)
        raise TimeoutError(f"docker-registry does not answer: {self.log.read_text(errors='replace')}")


def _make_certificate(folder: Path) -> None:
    subject = ["-subj", "/CN=registry of tests", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    files = ["-keyout", f"{folder}/server.key", "-out", f"{folder}/server.crt"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command = ["openssl", "req", "-x509", *key, "-days", "2", *subject, *files]
    subprocess.run(command, check=True, capture_output=True)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
