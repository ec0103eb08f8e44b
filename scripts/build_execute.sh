#!/bin/sh
# Make the programs in src/tfmesos/agent/oci/execute from execute.c (Debian: gcc, gcc-aarch64-linux-gnu).
set -eu
cd "$(dirname "$0")/../src/tfmesos/agent/oci/execute"
build() {
    "$1-linux-gnu-gcc" -Os -Wall -Wextra -Werror -static -nostdlib -ffreestanding -fno-pie -no-pie -fno-stack-protector \
        -fno-asynchronous-unwind-tables "$2" -Wl,--build-id=none,-z,noexecstack,-n -s -o "$1" execute.c
}
build x86_64 -fcf-protection=none
build aarch64 -mbranch-protection=none
