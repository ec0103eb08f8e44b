#!/bin/sh
# Make the Python modules and their type stubs from src/tfmesos/wire/*.proto.
#
# The generator is an old one on purpose: code of protoc 25 (protobuf 4.25) loads on every runtime from 4.25 to 7, while
# newer generated code refuses older runtimes, and TensorFlow pins one.
set -eu
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet 'grpcio-tools==1.62.3' 'mypy-protobuf==3.6.0' 'setuptools<81'
PATH="$tools/venv/bin:$PATH" "$tools/venv/bin/python" -m grpc_tools.protoc --proto_path=src --python_out=src --mypy_out=quiet:src src/tfmesos/wire/*.proto
