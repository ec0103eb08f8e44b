/* execute FILE ARGV0 ARGUMENT...: become FILE with these arguments, its own name among them.
 *
 * OCI runtimes execute what they are given as argv[0], and know no other name for it; Mesos' commands may have one. It
 * is what execvp(3) does with the environment that it has: a name without a slash is searched in PATH, what is no
 * program is given to /bin/sh. It came by descriptor 3, which the program does not get.
 *
 * Without a C library, so that it runs in every image. scripts/build_execute.sh makes the programs beside this file.
 */
#include <linux/errno.h>

#define INHERITED 3
#define PATH_MAX 4096

#if defined(__x86_64__)
enum { SYS_WRITE = 1, SYS_CLOSE = 3, SYS_EXECVE = 59, SYS_EXIT = 60 };

static long syscall3(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

__asm__(".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
enum { SYS_CLOSE = 57, SYS_WRITE = 64, SYS_EXIT = 93, SYS_EXECVE = 221 };

static long syscall3(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

__asm__(".globl _start\n_start:\n mov x0, sp\n bl start\n");
#endif

static unsigned long length(const char *text)
{
    unsigned long found = 0;
    while (text[found])
        found++;
    return found;
}

static void print(const char *text)
{
    syscall3(SYS_WRITE, 2, (long)text, length(text));
}

/* The kernel's error; whoever is no program is a script for the shell. `argv[-1]` may be overwritten. */
static long execute(const char *path, char **argv, char **environment)
{
    long error = syscall3(SYS_EXECVE, (long)path, (long)argv, (long)environment);
    if (error == -ENOEXEC) {
        char *name = argv[0];
        argv[-1] = "/bin/sh";
        argv[0] = (char *)path;
        error = syscall3(SYS_EXECVE, (long)"/bin/sh", (long)(argv - 1), (long)environment);
        argv[0] = name;
    }
    return error;
}

static int has_slash(const char *text)
{
    for (; *text; text++)
        if (*text == '/')
            return 1;
    return 0;
}

static const char *search_path(char **environment)
{
    for (; *environment; environment++) {
        const char *entry = *environment;
        if (entry[0] == 'P' && entry[1] == 'A' && entry[2] == 'T' && entry[3] == 'H' && entry[4] == '=')
            return entry + 5;
    }
    return "/bin:/usr/bin"; /* glibc: execvp(3) */
}

static long execute_found(const char *name, char **argv, char **environment)
{
    char path[PATH_MAX];
    long failure = -ENOENT;
    const char *from = search_path(environment);
    for (;;) {
        unsigned long at = 0;
        const char *letter = name;
        while (*from && *from != ':' && at < PATH_MAX - 2)
            path[at++] = *from++;
        if (at > 0)
            path[at++] = '/';
        while (*letter && at < PATH_MAX - 1)
            path[at++] = *letter++;
        path[at] = 0;
        long error = *letter ? -ENAMETOOLONG : execute(path, argv, environment);
        if (error == -EACCES)
            failure = error;
        else if (error != -ENOENT && error != -ENOTDIR && error != -ENAMETOOLONG)
            return error;
        while (*from && *from != ':')
            from++;
        if (!*from++)
            return failure;
    }
}

__attribute__((used, noreturn)) static void start(long *stack)
{
    char **argv = (char **)(stack + 1);
    char **environment = argv + stack[0] + 1;
    const char *file = argv[1];
    long error = -EINVAL;
    syscall3(SYS_CLOSE, INHERITED, 0, 0);
    if (stack[0] > 2 && *file)
        error = has_slash(file) ? execute(file, argv + 2, environment) : execute_found(file, argv + 2, environment);
    print("cannot execute '");
    print(file ? file : "");
    print(error == -ENOENT ? "': No such file or directory\n" : error == -EACCES ? "': Permission denied\n" : "'\n");
    syscall3(SYS_EXIT, 1, 0, 0);
    __builtin_unreachable();
}
