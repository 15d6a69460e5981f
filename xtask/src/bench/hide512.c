/* Hides AVX-512 and AMX from a program that it is loaded into: LD_PRELOAD, on Linux for x86-64.
   `CPUID` is made to fault (arch_prctl, ARCH_CPUID_SET) and answered without their bits. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_CPUID_SET = 0x1012 };

static long set_cpuid(long is_on) { return syscall(SYS_arch_prctl, ARCH_CPUID_SET, is_on); }

static void answer(int number, siginfo_t *info, void *context) {
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)registers[REG_RIP];
    if (at[0] != 0x0f || at[1] != 0xa2) {
        /* Another fault: it comes again, and ends the program. */
        signal(number, SIG_DFL);
        return;
    }
    uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX];
    uint32_t a = leaf, b, c = part, d;
    set_cpuid(1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    set_cpuid(0);
    if (leaf == 7 && part == 0) {
        b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
        c &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
        d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);
    }
    if (leaf == 7 && part == 1)
        a &= ~(1u << 5 | 1u << 21);
    if (leaf == 0x24)
        a = b = c = d = 0;
    registers[REG_RAX] = a;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, 0);
    set_cpuid(0);
}
