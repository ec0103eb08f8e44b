"""The flag grammar of Mesos 1.11, its texts, and what is printed of flags."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from tfmesos.flags import (
    FlagError,
    flag,
    flag_texts,
    format_duration,
    load_flags,
    parse_bytes,
    parse_duration,
    reference_page,
    usage,
    wants_help,
    wants_version,
)


def parse_level(text: str) -> str:
    if text not in ("INFO", "WARNING"):
        raise FlagError(f"'{text}' is not INFO or WARNING")
    return text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    work_dir: str = flag(help="Where the work is done.")
    port: int = flag(5050, help="Port to listen on.")
    factor: float = flag(0.5, help="A factor.")
    quiet: bool = flag(False, help="Say nothing.")
    lookup: bool = flag(True, help="Look names up.", aliases=("hostname_lookup",))
    ping_timeout: float = flag(15.0, parse=parse_duration, help="Time-out.", aliases=("slave_ping_timeout",))
    cache: int = flag(2 << 30, parse=parse_bytes, help="Size | of cache.")
    hostname: str | None = flag(None, help="Name.")
    level: str = flag("INFO", parse=parse_level, help="Level.", metavar="LEVEL")
    acls: str | None = flag(None, help="ACLs.", json=True)
    key: Path | None = flag(None, help="Key.")
    credential: str | None = flag(None, help="Secret.", secret=True)
    not_a_flag: int = 3


def load(*argv: str, **environ: str) -> Flags:
    return load_flags(Flags, ["--work_dir=/w", *argv], environ)


def test_values_are_read_by_their_types() -> None:
    flags = load(
        "--port=1", "--factor=2e-1", "--ping_timeout=1mins", "--cache=4KB", "--hostname=a=b", "--level=WARNING"
    )
    assert flags == Flags(
        work_dir="/w", port=1, factor=0.2, ping_timeout=60.0, cache=4096, hostname="a=b", level="WARNING"
    )


@pytest.mark.parametrize("word", ["--quiet", "--quiet=", "--quiet=true", "--quiet=1", "--QUIET"])
def test_a_boolean_is_switched_on(word: str) -> None:
    assert load(word).quiet


@pytest.mark.parametrize("word", ["--no-lookup", "--lookup=false", "--lookup=0", "--no-hostname_lookup", "--no-LOOKUP"])
def test_a_boolean_is_switched_off(word: str) -> None:
    assert not load(word).lookup


def test_names_do_not_regard_case() -> None:
    assert load("--Port=7").port == 7


def test_words_that_are_no_flags_are_ignored_and_a_bare_double_dash_ends_flags() -> None:
    assert load("word", "-p", "--port=1", "--", "--port=2", "--nonsense").port == 1


def test_the_command_line_beats_the_environment() -> None:
    assert load(MESOS_PORT="2").port == 2
    assert load("--port=1", MESOS_PORT="2").port == 1
    assert load("--port=1", MESOS_PORT="nonsense").port == 1


def test_foreign_variables_are_ignored_and_without_an_environment_all_are() -> None:
    assert load(MESOS_NO_SUCH="x", PORT="2", MESOS_NOT_A_FLAG="4").port == 5050
    assert load_flags(Flags, ["--work_dir=/w"], None).port == 5050
    assert load_flags(Flags, ["--work_dir=/w"], {"X_PORT": "3"}, prefix="X_").port == 3


def test_variables_satisfy_required_flags_and_aliases() -> None:
    flags = load_flags(Flags, [], {"MESOS_WORK_DIR": "/v", "MESOS_SLAVE_PING_TIMEOUT": "2secs", "MESOS_QUIET": "1"})
    assert (flags.work_dir, flags.ping_timeout, flags.quiet) == ("/v", 2.0, True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--nonsense=1"], "Failed to load unknown flag 'nonsense'"),
        (["--no-nonsense"], "Failed to load unknown flag 'nonsense' via 'no-nonsense'"),
        (["--not_a_flag=1"], "Failed to load unknown flag 'not_a_flag'"),
        (["--port"], "Failed to load non-boolean flag 'port': Missing value"),
        (["--no-port"], "Failed to load non-boolean flag 'port' via 'no-port'"),
        (["--no-quiet=x"], "Failed to load boolean flag 'quiet' via 'no-quiet' with value 'x'"),
        (["--port=1", "--port=1"], "Flag 'port' is already loaded via name 'port'"),
        (["--slave_ping_timeout=1secs", "--ping_timeout=1secs"], "already loaded via name 'slave_ping_timeout'"),
        (["--quiet", "--no-quiet"], "Flag 'quiet' is already loaded via name 'quiet'"),
        (["--quiet=yes"], "Failed to load flag 'quiet': Failed to load value 'yes': Expecting a boolean"),
        (["--port=x"], "Failed to load flag 'port': Failed to load value 'x': Failed to convert 'x' to number"),
        (["--factor=x"], "Failed to convert 'x' to number"),
        (["--ping_timeout=1sec"], "Unknown duration unit 'sec'"),
        (["--ping_timeout=5"], "Failed to load flag 'ping_timeout'"),
        (
            ["--level=DEBUG"],
            "Failed to load value 'DEBUG': 'DEBUG' is not INFO or WARNING",
        ),
        (["--hostname=a\udcff"], "Failed to load flag 'hostname': Failed to load value 'a\udcff': not UTF-8"),
        (["--credential=a\udcff"], "Failed to load flag 'credential': Failed to load its secret value: not UTF-8"),
        (["--hostname=file:///no/such"], "Error reading file '/no/such': No such file or directory"),
    ],
)
def test_a_wrong_flag_is_named(words: list[str], error: str) -> None:
    with pytest.raises(FlagError) as caught:
        load(*words)
    assert error in str(caught.value)
    assert caught.value.exit_status == 1


def test_an_alias_in_the_environment_and_the_name_on_the_command_line_clash() -> None:
    with pytest.raises(FlagError, match="Flag 'ping_timeout' is already loaded via name 'slave_ping_timeout'"):
        load("--ping_timeout=1secs", MESOS_SLAVE_PING_TIMEOUT="1secs")


def test_a_required_flag_must_be_there() -> None:
    with pytest.raises(FlagError, match="Flag 'work_dir' is required, but it was not provided"):
        load_flags(Flags, [], {})


def test_a_file_stands_for_its_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content\n")

    flags = load(f"--hostname=file://{file}", f"--acls={file}", f"--key=file://{file}")

    assert (flags.hostname, flags.acls, flags.key) == ("content\n", "content\n", file)
    assert load(f"--hostname={file}", "--acls={}").hostname == str(file)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff")
    with pytest.raises(FlagError, match="not UTF-8"):
        load(f"--hostname=file://{tmp_path}/file")


def test_help_and_version_are_noticed_among_wrong_flags() -> None:
    assert wants_help(["--nonsense", "--help"])
    assert wants_help(["--HELP=true"])
    assert wants_version(["--version"])
    assert not wants_help(["--", "--help"])
    assert not wants_help(["--help=false"])
    assert not wants_help(["help"])


def test_texts_are_those_of_the_values_without_secrets_and_absent_ones() -> None:
    assert flag_texts(load("--quiet", "--ping_timeout=90secs", "--credential=x")) == {
        "work_dir": "/w",
        "port": "5050",
        "factor": "0.5",
        "quiet": "true",
        "lookup": "true",
        "ping_timeout": "90secs",
        "cache": "2GB",
        "level": "INFO",
    }


def test_texts_load_to_the_same_flags() -> None:
    flags = load("--no-lookup", "--ping_timeout=1.5hrs", "--cache=5MB", "--port=9")
    assert load_flags(Flags, [f"--{name}={text}" for name, text in flag_texts(flags).items()], {}) == flags


def test_usage_names_every_flag_with_its_default() -> None:
    text = usage(Flags, "mesos-thing")
    assert text.startswith("Usage: mesos-thing [options]\n")
    assert "--[no-]quiet" in text
    assert "--level=LEVEL" in text
    assert f"Time-out. (default: {format_duration(15)})" in text
    assert "Where the work is done. (required)" in text
    assert "not_a_flag" not in text


def test_the_reference_page_is_a_table_row_for_each_flag() -> None:
    page = reference_page(Flags, "mesos-thing")
    assert "| `--work_dir` | required | Where the work is done. |" in page
    assert "| `--cache` | `2GB` | Size \\| of cache. |" in page
    assert "| `--ping_timeout` (also `--slave_ping_timeout`) | `15secs` | Time-out. |" in page
    assert "| `--hostname` | – | Name. |" in page


def test_flags_need_the_standard_library_only() -> None:
    code = (
        "import sys, tfmesos.flags;"
        "print({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names) - {'__main__', 'tfmesos'})"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=source_path())
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


def source_path() -> dict[str, str]:
    import tfmesos

    return {"PYTHONPATH": str(Path(tfmesos.__file__).parents[1])}
