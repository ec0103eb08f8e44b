/* A stand-in for nvidia-smi that shows what really opens: a card is there when its node opens.
 * No driver stands behind the nodes: an allowed open answers ENXIO, a denied one EPERM (spec/linux.md §2). */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "machine.h"

static int opens(const char *format, unsigned number) {
    char path[64];
    snprintf(path, sizeof path, format, number);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0 || errno == ENXIO;
}

static int is_visible(const struct instance *instance) {
    return opens("/dev/nvidia-caps/nvidia-cap%u", instance->caps[0]) && opens("/dev/nvidia-caps/nvidia-cap%u", instance->caps[1]);
}

static void list(const struct machine *machine, const struct card *card) {
    printf("GPU %u: %s (UUID: %s)\n", card->index, card->name, card->uuid);
    for (unsigned i = 0, shown = 0; i < machine->instances; i++) {
        const struct instance *instance = &machine->instance[i];
        if (instance->card == card->index && is_visible(instance))
            printf("  MIG %-11s Device %2u: (UUID: %s)\n", instance->profile, shown++, instance->uuid);
    }
}

static void show(const struct card *card) {
    printf("|   %u  %-40s %s |\n", card->index, card->name, card->bus);
    printf("|      %6lluMiB / %6lluMiB    %3u%% |\n", card->used_mb, card->memory_mb, card->utilisation);
}

int main(int count, char **arguments) {
    int lists = count > 1 && (strcmp(arguments[1], "-L") == 0 || strcmp(arguments[1], "--list-gpus") == 0);
    struct machine machine;
    unsigned found = 0;
    if (count > 1 && !lists) {
        printf("Invalid combination of input arguments.\n");
        return 2;
    }
    if (!read_machine(&machine, "nvmlInit") || machine.failure == 9) {
        printf("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
        return 9;
    }
    if (!opens("/dev/nvidiactl", 0)) {
        printf("Failed to initialize NVML: Insufficient Permissions\n");
        return 4;
    }
    for (unsigned i = 0; i < machine.cards; i++) found += opens("/dev/nvidia%u", machine.card[i].minor) != 0;
    if (!found) {
        printf("No devices were found\n");
        return 6;
    }
    if (!lists) printf("| NVIDIA-SMI %s    Driver Version: %s |\n", machine.driver, machine.driver);
    for (unsigned i = 0; i < machine.cards; i++) {
        if (!opens("/dev/nvidia%u", machine.card[i].minor)) continue;
        if (lists)
            list(&machine, &machine.card[i]);
        else
            show(&machine.card[i]);
    }
    return 0;
}
