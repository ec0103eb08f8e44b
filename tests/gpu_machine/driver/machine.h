/* The machine that the fake driver shows: a text file, read anew at each call, so that a test can change it.
 *
 *   driver 550.54.15
 *   cuda 12040
 *   fails nvmlDeviceGetCount 999                              that function answers so (nvmlInit: the driver's state)
 *   card INDEX MINOR UUID PCI-BUS-ID MEMORY-MB USED-MB UTILISATION MIG-MODE NAME...
 *   instance CARD GPU-INSTANCE COMPUTE-INSTANCE UUID MEMORY-MB USED-MB CAP CAP PROFILE
 *   process CARD PID USED-MB                                                    CAP: the minors of its nvidia-caps
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_FILE "/proc/driver/nvidia/machine"
/* The same at the end of a library of the driver: a container's own /proc does not show the machine. */
#define MACHINE_LIBRARY "/usr/local/nvidia/lib64/libnvidia-machine.so.550.54.15"
#define MOST 64

struct card {
    unsigned index, minor, utilisation, mig;
    unsigned long long memory_mb, used_mb;
    char uuid[80], bus[32], name[64];
};

struct instance {
    unsigned card, gpu_instance, compute_instance, caps[2];
    unsigned long long memory_mb, used_mb;
    char uuid[80], profile[32];
};

struct process {
    unsigned card, pid;
    unsigned long long used_mb;
};

struct machine {
    char driver[80];
    unsigned cuda, cards, instances, processes;
    struct card card[MOST];
    struct instance instance[MOST];
    struct process process[MOST];
    unsigned failure; /* of the function that reads */
};

static void read_line(struct machine *machine, const char *line, const char *function) {
    struct card card = {0};
    struct instance instance = {0};
    struct process process = {0};
    char name[64];
    unsigned code;
    if (sscanf(line, "card %u %u %79s %31s %llu %llu %u %u %63[^\n]", &card.index, &card.minor, card.uuid, card.bus,
               &card.memory_mb, &card.used_mb, &card.utilisation, &card.mig, card.name) == 9) {
        if (machine->cards < MOST) machine->card[machine->cards++] = card;
    } else if (sscanf(line, "instance %u %u %u %79s %llu %llu %u %u %31s", &instance.card, &instance.gpu_instance,
                      &instance.compute_instance, instance.uuid, &instance.memory_mb, &instance.used_mb,
                      &instance.caps[0], &instance.caps[1], instance.profile) == 9) {
        if (machine->instances < MOST) machine->instance[machine->instances++] = instance;
    } else if (sscanf(line, "process %u %u %llu", &process.card, &process.pid, &process.used_mb) == 3) {
        if (machine->processes < MOST) machine->process[machine->processes++] = process;
    } else if (sscanf(line, "fails %63s %u", name, &code) == 2) {
        if (strcmp(name, function) == 0) machine->failure = code;
    } else if (sscanf(line, "driver %79s", machine->driver) != 1) {
        sscanf(line, "cuda %u", &machine->cuda);
    }
}

/* False when there is no machine: then no driver is loaded. */
static int read_machine(struct machine *machine, const char *function) {
    const char *path = getenv("FAKE_GPU_MACHINE");
    FILE *file = fopen(path ? path : MACHINE_FILE, "re");
    char line[512];
    memset(machine, 0, sizeof *machine);
    if (!file && !path) file = fopen(MACHINE_LIBRARY, "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) read_line(machine, line, function);
    fclose(file);
    return 1;
}
