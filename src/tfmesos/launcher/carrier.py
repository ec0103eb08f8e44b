"""What travels with a task: `python3 -c <this file>`. Standard library only, Python 3.6 or newer.

The launcher leaves one JSON object in the environment, compressed, in entries below Linux' 128 KiB each:

    agent        the name of the agent, for texts
    directory    where to start, or null
    paths        paths that must exist
    user         who the task is where the image does not know, or null for a task without an image
    port         the task's port, or null
    gpus         how many GPUs the task was promised
    defaults     variables to set unless they are set
    initializer  a shell line to run before, or null
    finalizer    a shell line to run after, or null
    command      the arguments to run; null starts a TensorFlow server
    python       the interpreter for the server where it exists, or null
    server       {cluster: {role: {index: address}}, job_name, task_index, protocol}
"""

import sys

if sys.path and not sys.path[0]:
    del sys.path[0]  # the working directory: a user's random.py there is not ours to import

import base64
import errno
import json
import os
import signal
import zlib

MYPY = False
if MYPY:  # the module `typing` costs a task's start several milliseconds
    from collections.abc import MutableMapping
    from typing import Any, NoReturn

ENTRY = "TFMESOS_CARRIER_"
ENTRY_LIMIT = 100000
PORT_TAKEN = 98
NO_DIRECTORY = 72
NO_GPUS = 71
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def pack(description: "dict[str, Any]") -> "dict[str, str]":
    """The entries of an environment that carry `description`."""
    data = zlib.compress(json.dumps(description).encode("utf-8"), 6)
    text = base64.b64encode(data).decode("ascii")
    parts = [text[start : start + ENTRY_LIMIT] for start in range(0, len(text), ENTRY_LIMIT)]
    return {ENTRY + str(number): part for number, part in enumerate(parts)}


def unpack(environment: "MutableMapping[str, str]") -> "Any":
    """Take the description out of an environment: the task does not see it."""
    parts = []  # type: list[str]
    while ENTRY + str(len(parts)) in environment:
        parts.append(environment.pop(ENTRY + str(len(parts))))
    return json.loads(zlib.decompress(base64.b64decode("".join(parts))).decode("utf-8"))


def say(text: str) -> None:
    """A line in the task's log."""
    os.write(2, f"tfmesos: {text}\n".encode("utf-8", "backslashreplace"))


def fail(status: int, text: str) -> "NoReturn":
    """End the task with a text in its log."""
    say(text)
    os._exit(status)


def enter(description: "dict[str, Any]") -> None:
    """Go where the launcher was, or say why not: a silent start elsewhere would find other files."""
    directory, agent = description["directory"], description["agent"]
    for path in description["paths"]:
        if not os.path.exists(path.encode("utf-8")):
            fail(NO_DIRECTORY, f"the volume {path} does not exist on agent {agent}")
    if directory is None:
        return
    try:
        os.chdir(directory.encode("utf-8"))
    except OSError as error:
        fail(NO_DIRECTORY, f"cannot enter the working directory {directory} on agent {agent}: {error.strerror}")
    os.environb[b"PWD"] = directory.encode("utf-8")


def be_somebody(user: str) -> None:
    """In an image the task's uid may have no name, and no home that is there: programs want both."""
    import pwd

    home = ""
    try:
        entry = pwd.getpwuid(os.getuid())
        user, home = entry.pw_name, entry.pw_dir
    except KeyError:
        pass
    os.environb.setdefault(b"USER", user.encode("utf-8"))
    if os.environ.get("HOME", home) not in ("/", home):
        return  # somebody has said so; docker and runc say what /etc/passwd does, or / where that says nothing
    if not os.path.isdir(home) or not os.access(home, os.W_OK):
        home = os.environ.get("MESOS_SANDBOX") or os.getcwd()
    os.environ["HOME"] = home


def restore_environment() -> None:
    """Undo what the interpreter did: it sets LC_CTYPE in the C locale (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:
        first = [entry.split(b"=", 1)[0] for entry in file.read().split(b"\0")]
    if b"LC_CTYPE" not in first:
        os.environb.pop(b"LC_CTYPE", None)


def set_defaults(description: "dict[str, Any]") -> None:
    """Set what the user did not set, byte for byte."""
    for name, value in description["defaults"].items():
        os.environb.setdefault(name.encode("utf-8"), value.encode("utf-8"))


def check_gpus(description: "dict[str, Any]") -> None:
    """Fail unless the GPUs that were promised can be used: nobody shall train on the CPU and not know it."""
    promised, agent = description["gpus"], description["agent"]
    if not promised:
        return
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    opened = open_gpus("")
    usable = opened if shown is None else min(opened, shown_gpus(shown))
    variable = "is not set" if shown is None else f"is '{shown}'"
    if usable < promised:
        why = f"{opened} of /dev/nvidia* open, CUDA_VISIBLE_DEVICES {variable}"
        fail(NO_GPUS, f"{promised} gpus were promised on agent {agent}, but {usable} can be used: {why}")
    if usable > promised:
        say(f"{promised} gpus were promised on agent {agent}, and {usable} can be used: they are not kept apart there")


def shown_gpus(shown: str) -> int:
    """How many GPUs CUDA_VISIBLE_DEVICES names (CUDA: what follows an entry that names none is ignored)."""
    names = []  # type: list[str]
    for entry in shown.split(","):
        name = entry.strip()
        if name in names or not (name.isdigit() or name.startswith(("GPU-", "MIG-"))):
            break
        names.append(name)
    return len(names)


def open_gpus(root: str) -> int:
    """How many GPUs open here: cards, and of a card in MIG mode its instances (mig-minors lists their nodes)."""
    cards = {name[6:] for name in names_in(root + "/dev") if name.startswith("nvidia") and name[6:].isdigit()}
    cards = {card for card in cards if opens(f"{root}/dev/nvidia{card}", os.O_RDWR)}
    parents = [parent for parent in parents_of_instances(root) if parent in cards]
    return len(cards.difference(parents)) + len(parents)


def parents_of_instances(root: str) -> "list[str]":
    """The card of each MIG instance whose nodes open: `gpu0/gi1/ci0/access 13` and `gpu0/gi1/access 12`."""
    nodes = set(names_in(root + "/dev/nvidia-caps"))
    opened = {
        path[: -len("/access")]
        for path, minor in capabilities(root)
        if f"nvidia-cap{minor}" in nodes and opens(f"{root}/dev/nvidia-caps/nvidia-cap{minor}", os.O_RDONLY)
    }
    parts = [path.split("/") for path in opened]
    return [part[0][len("gpu") :] for part in parts if len(part) == 3 and "/".join(part[:2]) in opened]


def capabilities(root: str) -> "list[list[str]]":
    """What the driver lists, as path and minor; nothing where it knows no MIG."""
    try:
        with open(root + "/proc/driver/nvidia-caps/mig-minors") as file:
            return [line.split() for line in file if len(line.split()) == 2]
    except OSError:
        return []


def names_in(directory: str) -> "list[str]":
    """What is in a directory that need not be there."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def opens(path: str, flags: int) -> bool:
    """Whether a device is ours to use; one that has no driver behind it (ENXIO) is not withheld."""
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return error.errno == errno.ENXIO
    return True


def hold(port: int) -> "Any":
    """A socket that keeps the port for the program: SO_REUSEADDR and never listening."""
    import socket

    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind(("", port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(PORT_TAKEN, f"port {port} is taken by another program")
    return holder


def run_shell(line: str) -> int:
    """Run a shell line of the extra configuration; returns its exit status."""
    import subprocess

    status = subprocess.call([b"sh", b"-c", line.encode("utf-8")])
    return status if status >= 0 else 128 - status


def execute(command: "list[str]") -> "NoReturn":
    """Become the command."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and an ignored signal stays so over exec
    arguments = [part.encode("utf-8") for part in command]
    if not command[0]:
        fail(127, "cannot run the command: its first word is empty")
    try:
        os.execvpe(arguments[0], arguments, os.environb)
    except OSError as error:
        status = 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126
        fail(status, f"cannot run {command[0]}: {error.strerror}")


def run_with_finalizer(command: "list[str]", finalizer: str) -> "NoReturn":
    """Run the command as a child that gets our signals, then the finalizer; end as the command ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # a signal before there is a handler would skip the finalizer
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        execute(command)
    for number in FORWARDED:
        signal.signal(number, lambda received, frame: forward(child, received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    status = os.waitpid(child, 0)[1]
    for number in FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    run_shell(finalizer)
    if os.WIFSIGNALED(status):
        end_by_signal(os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def forward(child: int, number: int) -> None:
    """Pass a signal on."""
    try:  # noqa: SIM105  contextlib costs a task's start a millisecond
        os.kill(child, number)
    except OSError:
        pass


def end_by_signal(number: int) -> "NoReturn":
    """End as the command did, so that the agent reports the truth; without a second core file."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def serve(description: "dict[str, Any]") -> None:
    """Run a TensorFlow server until it is killed, its port held while TensorFlow is loaded."""
    holder = hold(description["port"])
    server = description["server"]
    cluster = {
        job: {int(index): address for index, address in tasks.items()} for job, tasks in server["cluster"].items()
    }
    library = load_servers()
    running = library.Server(
        library.ClusterSpec(cluster),
        job_name=server["job_name"],
        task_index=server["task_index"],
        protocol=server["protocol"],
    )
    running.join()
    holder.close()


def load_servers() -> "Any":
    """TensorFlow's module of servers, without the rest of TensorFlow where that is enough.

    A server needs little of it: 0.65 s instead of 2.3 s with TensorFlow 2.21. With a GPU, a plugin, or an inside that
    looks otherwise, all is loaded, as a program would.
    """
    import importlib.util
    import types

    found = importlib.util.find_spec("tensorflow")
    if found is not None and is_plain(found):
        package = types.ModuleType("tensorflow")
        package.__path__ = list(found.submodule_search_locations or ())
        sys.modules["tensorflow"] = package
        try:
            from tensorflow.python import tf2
            from tensorflow.python.training import server_lib

            tf2.enable()
            return server_lib
        except (ImportError, AttributeError):
            del sys.modules["tensorflow"]
    import tensorflow  # noqa: F401
    from tensorflow.python.training import server_lib

    return server_lib


def is_plain(found: "Any") -> bool:
    """Whether TensorFlow, as it was found, would load nothing else for a server: no driver, kernels or devices."""
    places = list(found.submodule_search_locations or ())
    more = ["/dev/nvidiactl", "/dev/kfd"]
    more += [os.path.join(place, "core", "kernels") for place in places]
    more += [os.path.join(os.path.dirname(place), "tensorflow-plugins") for place in places]
    return not any(map(os.path.exists, more)) and not os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH")


def use_interpreter(description: "dict[str, Any]") -> None:
    """Go on under the launcher's interpreter where the agent has it: TensorFlow is there, and perhaps nowhere else."""
    python = description["python"]
    if not python or python == sys.executable or not os.access(python.encode("utf-8"), os.X_OK):
        return
    description["python"] = None
    os.environ.update(pack(description))
    with open("/proc/self/cmdline", "rb") as file:
        source = file.read().rstrip(b"\0").split(b"\0")[-1]
    os.execv(python, [python, "-c", source])


def main() -> None:
    """Do all of it."""
    restore_environment()
    description = unpack(os.environ)
    if description["command"] is None:
        use_interpreter(description)
    if description["user"]:
        be_somebody(description["user"])
    set_defaults(description)
    enter(description)
    check_gpus(description)
    if description["port"]:
        hold(description["port"]).close()
    if description["initializer"]:
        status = run_shell(description["initializer"])
        if status:
            fail(status, f"the initializer ended with status {status}")
    if description["command"] is None:
        serve(description)
    elif description["finalizer"]:
        run_with_finalizer(description["command"], description["finalizer"])
    else:
        execute(description["command"])


if __name__ == "__main__":
    main()
