#!/bin/sh
# enter.sh FOLDER VIEW LIBRARY: turn this private mount namespace (unshare --mount) into the machine that FOLDER
# describes, say "ready", and keep the namespace until standard input ends.
#
#   FOLDER/nodes            "PATH MAJOR MINOR" a line: character devices below /dev
#   FOLDER/dev              where the new /dev is made
#   FOLDER/driver-files     becomes /proc/driver
#   FOLDER/proc-devices     becomes /proc/devices
#   FOLDER/bin              joins /usr/local/sbin
#   FOLDER/machine-library  becomes LIBRARY
#   FOLDER/ld.so.cache      becomes /etc/ld.so.cache, where there is one
set -eu
folder=$1
view=$2
library=$3

mount --make-rprivate /
if [ "$view" = v2 ]; then mount -t cgroup2 cgroup2 /sys/fs/cgroup; fi

# A /dev of its own: nothing that is made in it is ever seen outside.
mount -t tmpfs -o mode=755,size=4m fake-dev "$folder/dev"
cd "$folder/dev"
mkdir -p pts shm net nvidia-caps
mount --bind /dev/pts pts
mount --bind /dev/shm shm
umask 0
while read -r path major minor; do mknod -m 666 "$path" c "$major" "$minor"; done <"$folder/nodes"
rmdir --ignore-fail-on-non-empty nvidia-caps
ln -s /proc/self/fd fd
ln -s /proc/self/fd/0 stdin
ln -s /proc/self/fd/1 stdout
ln -s /proc/self/fd/2 stderr
cd /
mount --move "$folder/dev" /dev

mount --bind "$folder/driver-files" /proc/driver
mount --bind "$folder/proc-devices" /proc/devices
mount -t overlay -o "lowerdir=$folder/bin:/usr/local/sbin" fake-bin /usr/local/sbin
mount --bind "$folder/machine-library" "$library"
if [ -e "$folder/ld.so.cache" ]; then mount --bind "$folder/ld.so.cache" /etc/ld.so.cache; fi
mkdir -p "$folder/var-lib"
mount --bind "$folder/var-lib" /var/lib
mount -t tmpfs -o mode=755,size=16m fake-run /run

echo ready
read -r _ || true
