"""Print docs/flags.md out of the programs' own definitions: `print_flags.py > docs/flags.md`."""

from __future__ import annotations

from tfmesos.agent import AgentFlags
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.run.options import help_text
from tfmesos.flags import reference_page
from tfmesos.master import MasterFlags

OPENING = """# Every flag

Printed from the programs by `scripts/print_flags.py`. [user.md](user.md) explains the options of `tfrun`.

### `tfrun`
"""

GRAMMAR = """The other programs are named like those of Apache Mesos and have its grammar: `--name=value`; for a
boolean `--name`, `--no-name` or `--name=true|false`. `--name=file:///path` reads the value from a file. `mesos-master`
and `mesos-agent` also read `MESOS_NAME` from the environment; the command line wins. Durations have a unit (`500ms`,
`10secs`, `1mins`), sizes too (`4096B`, `1GB`). All
know `--help` and `--version`, which prints the Mesos whose protocols they speak and, in brackets, TFMesos' own version;
`mesos-agent --doctor` with the flags of an agent looks whether this machine has what they need ([gpu.md](gpu.md)).
"""


def page() -> str:
    """The whole text of docs/flags.md."""
    programs = (("mesos-master", MasterFlags), ("mesos-agent", AgentFlags), ("mesos-execute", ExecuteFlags))
    tfrun = f"```text\n{help_text().rstrip()}\n```\n"
    return "\n".join([OPENING, tfrun, GRAMMAR, *(reference_page(flags, program) for program, flags in programs)])


if __name__ == "__main__":
    print(page(), end="")
