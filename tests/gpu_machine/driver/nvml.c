/* A stand-in for NVIDIA's libnvidia-ml.so.1: the functions that nvidia-ml-py needs for discovery and statistics.
 * The layout of structures and the codes are those of nvidia-ml-py (pynvml.py). */
#include "machine.h"

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9
};

typedef struct handle *Device; /* never read: 1 + index of a card, or FIRST_INSTANCE + index of an instance */
#define FIRST_INSTANCE 1000
#define MB (1024ULL * 1024ULL)

static int users; /* nvmlInit counts */

#define READ(machine)                                                                     \
    struct machine machine;                                                               \
    if (!users) return UNINITIALIZED;                                                     \
    if (!read_machine(&machine, __func__)) return DRIVER_NOT_LOADED;                      \
    if (machine.failure) return machine.failure

#define READ_CARD(machine, device, card)                                                  \
    READ(machine);                                                                        \
    struct card *card = card_of(&machine, device);                                        \
    if (!card) return is_instance(&machine, device) ? NOT_SUPPORTED : INVALID_ARGUMENT

static struct card *card_of(struct machine *machine, Device device) {
    unsigned long number = (unsigned long)device;
    for (unsigned i = 0; i < machine->cards; i++)
        if (machine->card[i].index + 1 == number) return &machine->card[i];
    return NULL;
}

static int is_instance(struct machine *machine, Device device) {
    unsigned long number = (unsigned long)device;
    return number >= FIRST_INSTANCE && number - FIRST_INSTANCE < machine->instances;
}

static struct instance *instance_of(struct machine *machine, Device device) {
    return is_instance(machine, device) ? &machine->instance[(unsigned long)device - FIRST_INSTANCE] : NULL;
}

static int answer_text(const char *text, char *into, unsigned length) {
    if (strlen(text) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(into, text);
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    struct machine machine;
    (void)flags;
    if (!read_machine(&machine, "nvmlInit")) return DRIVER_NOT_LOADED;
    if (machine.failure) return machine.failure;
    users++;
    return SUCCESS;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *into, unsigned length) {
    READ(machine);
    return answer_text(machine.driver, into, length);
}

int nvmlSystemGetNVMLVersion(char *into, unsigned length) {
    char text[96];
    READ(machine);
    snprintf(text, sizeof text, "12.%s", machine.driver);
    return answer_text(text, into, length);
}

int nvmlSystemGetCudaDriverVersion(int *version) {
    READ(machine);
    *version = (int)machine.cuda;
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

int nvmlDeviceGetCount(unsigned *count) {
    READ(machine);
    *count = machine.cards;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) { return nvmlDeviceGetCount(count); }

int nvmlDeviceGetHandleByIndex(unsigned index, Device *device) {
    READ(machine);
    *device = (Device)(unsigned long)(index + 1);
    return card_of(&machine, *device) ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) { return nvmlDeviceGetHandleByIndex(index, device); }

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device) {
    READ(machine);
    for (unsigned i = 0; i < machine.cards; i++)
        if (strcmp(machine.card[i].uuid, uuid) == 0) {
            *device = (Device)(unsigned long)(machine.card[i].index + 1);
            return SUCCESS;
        }
    for (unsigned i = 0; i < machine.instances; i++)
        if (strcmp(machine.instance[i].uuid, uuid) == 0) {
            *device = (Device)(unsigned long)(FIRST_INSTANCE + i);
            return SUCCESS;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(Device device, unsigned *index) {
    READ_CARD(machine, device, card);
    *index = card->index;
    return SUCCESS;
}

int nvmlDeviceGetMinorNumber(Device device, unsigned *minor) {
    READ_CARD(machine, device, card);
    *minor = card->minor;
    return SUCCESS;
}

int nvmlDeviceGetUUID(Device device, char *into, unsigned length) {
    READ(machine);
    struct card *card = card_of(&machine, device);
    struct instance *instance = instance_of(&machine, device);
    if (!card && !instance) return INVALID_ARGUMENT;
    return answer_text(card ? card->uuid : instance->uuid, into, length);
}

int nvmlDeviceGetName(Device device, char *into, unsigned length) {
    char text[128];
    READ(machine);
    struct card *card = card_of(&machine, device);
    struct instance *instance = instance_of(&machine, device);
    if (card) return answer_text(card->name, into, length);
    if (!instance || !(card = card_of(&machine, (Device)(unsigned long)(instance->card + 1)))) return INVALID_ARGUMENT;
    snprintf(text, sizeof text, "%s MIG %s", card->name, instance->profile);
    return answer_text(text, into, length);
}

struct pci {
    char old_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

int nvmlDeviceGetPciInfo_v3(Device device, struct pci *pci) {
    READ_CARD(machine, device, card);
    memset(pci, 0, sizeof *pci);
    strcpy(pci->id, card->bus);
    sscanf(card->bus, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->old_id, sizeof pci->old_id, "%04X:%02X:%02X.0", pci->domain & 0xFFFF, pci->bus & 0xFF, pci->device & 0xFF);
    pci->device_id = 0x20B010DE;
    return SUCCESS;
}

struct memory {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(Device device, struct memory *memory) {
    READ(machine);
    struct card *card = card_of(&machine, device);
    struct instance *instance = instance_of(&machine, device);
    if (!card && !instance) return INVALID_ARGUMENT;
    memory->total = MB * (card ? card->memory_mb : instance->memory_mb);
    memory->used = MB * (card ? card->used_mb : instance->used_mb);
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(Device device, struct memory_v2 *answer) {
    struct memory memory;
    int code = nvmlDeviceGetMemoryInfo(device, &memory);
    if (code != SUCCESS) return code;
    answer->total = memory.total;
    answer->reserved = 0;
    answer->free = memory.free;
    answer->used = memory.used;
    return SUCCESS;
}

struct utilisation {
    unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(Device device, struct utilisation *rates) {
    READ_CARD(machine, device, card);
    if (card->mig) return NOT_SUPPORTED;
    rates->gpu = card->utilisation;
    rates->memory = card->utilisation / 2;
    return SUCCESS;
}

struct running {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, struct running *running) {
    unsigned room = *count;
    READ_CARD(machine, device, card);
    *count = 0;
    for (unsigned i = 0; i < machine.processes; i++) {
        if (machine.process[i].card != card->index) continue;
        if (running && *count < room)
            running[*count] =
                (struct running){machine.process[i].pid, MB * machine.process[i].used_mb, ~0U, ~0U};
        (*count)++;
    }
    return *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned *count, struct running *running) {
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, running);
}

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
    READ_CARD(machine, device, card);
    *current = *pending = card->mig;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
    READ_CARD(machine, device, card);
    *count = card->mig ? 7 : 0;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *found) {
    READ_CARD(machine, device, card);
    if (!card->mig) return NOT_SUPPORTED;
    for (unsigned i = 0; i < machine.instances; i++)
        if (machine.instance[i].card == card->index && index-- == 0) {
            *found = (Device)(unsigned long)(FIRST_INSTANCE + i);
            return SUCCESS;
        }
    return NOT_FOUND;
}

int nvmlDeviceIsMigDeviceHandle(Device device, unsigned *answer) {
    READ(machine);
    *answer = (unsigned)is_instance(&machine, device);
    return SUCCESS;
}

#define READ_INSTANCE(machine, device, instance)                                          \
    READ(machine);                                                                        \
    struct instance *instance = instance_of(&machine, device);                            \
    if (!instance) return INVALID_ARGUMENT

int nvmlDeviceGetGpuInstanceId(Device device, unsigned *id) {
    READ_INSTANCE(machine, device, instance);
    *id = instance->gpu_instance;
    return SUCCESS;
}

int nvmlDeviceGetComputeInstanceId(Device device, unsigned *id) {
    READ_INSTANCE(machine, device, instance);
    *id = instance->compute_instance;
    return SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device device, Device *card) {
    READ_INSTANCE(machine, device, instance);
    *card = (Device)(unsigned long)(instance->card + 1);
    return SUCCESS;
}

struct attributes {
    unsigned multiprocessors, copy, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mb;
};

int nvmlDeviceGetAttributes_v2(Device device, struct attributes *attributes) {
    READ_INSTANCE(machine, device, instance);
    memset(attributes, 0, sizeof *attributes);
    attributes->multiprocessors = 14;
    attributes->gpu_slices = attributes->compute_slices = 1;
    attributes->memory_mb = instance->memory_mb;
    return SUCCESS;
}
