/* try_nodes [CGROUP.PROCS]: join that cgroup, then open every NVIDIA node of /dev and say what came of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void try_directory(const char *directory, const char *prefix, const char *shown) {
    DIR *opened = opendir(directory);
    struct dirent *entry;
    if (!opened) return;
    while ((entry = readdir(opened))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || entry->d_type != DT_CHR) continue;
        int descriptor = openat(dirfd(opened), entry->d_name, O_RDWR | O_CLOEXEC);
        printf("%s%s %s\n", shown, entry->d_name, descriptor >= 0 ? "opened" : strerrorname_np(errno));
        if (descriptor >= 0) close(descriptor);
    }
    closedir(opened);
}

int main(int count, char **arguments) {
    if (count > 1) {
        int procs = open(arguments[1], O_WRONLY | O_CLOEXEC);
        if (procs < 0 || write(procs, "0", 1) != 1) {
            perror(arguments[1]);
            return 3;
        }
        close(procs);
    }
    try_directory("/dev", "nvidia", "");
    try_directory("/dev/nvidia-caps", "nvidia-cap", "nvidia-caps/");
    return 0;
}
