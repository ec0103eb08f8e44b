#!/bin/sh
# environment.sh DIRECTORY EXTRAS: make a virtual environment with this project in it, or bring one up to date.
# The interpreter is $PYTHON, else the first of python3, python3.13, python3.12, python3.11 that fits.
set -eu
venv=$1
extras=$2

fail() {
    echo "$*" >&2
    exit 1
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none
}

fits() {
    case $(version_of "$1") in 3.11 | 3.12 | 3.13) return 0 ;; *) return 1 ;; esac
}

choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "PYTHON=$PYTHON is no Python 3.11, 3.12 or 3.13 (it answers: $(version_of "$PYTHON"))."
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11; do
        if fits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "TFMesos needs Python 3.11, 3.12 or 3.13 (python3 here: $(version_of python3)). Name one: PYTHON=/path/to/python3.12 make demo"
}

[ "$(uname -s)" = Linux ] || fail "TFMesos runs on Linux only (this is $(uname -s))."
# An environment that works is kept, unless the caller names another version.
if [ -n "${PYTHON:-}" ] || ! fits "$venv/bin/python"; then
    python=$(choose_python)
    if [ "$(version_of "$venv/bin/python")" != "$(version_of "$python")" ]; then
        "$python" -c 'import venv, ensurepip' 2>/dev/null ||
            fail "$python has no venv module. On Debian and Ubuntu: apt-get install python3-venv"
        echo "making $venv with $python ($(version_of "$python"))"
        "$python" -m venv --clear "$venv"
    fi
fi
echo "installing tfmesos[$extras] into $venv (TensorFlow is about 2 GB; later runs skip this)"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
