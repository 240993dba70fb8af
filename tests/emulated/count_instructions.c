/* A plugin for qemu's emulators of single programs that counts the instructions of aarch64 by kind.
 *
 *     gcc -O2 -shared -fPIC -o count.so count_instructions.c
 *     qemu-aarch64 -plugin ./count.so -d plugin -D counts.txt program
 *
 * It declares the few functions of qemu's plugin interface (version 1 and later) that it calls,
 * because distributions have no package with their header. Argument `hottest=N` adds the N
 * instructions that were executed most often, with their addresses. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct block;
struct instruction;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct block *);
struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
const void *qemu_plugin_insn_data(const struct instruction *);
uint64_t qemu_plugin_insn_vaddr(const struct instruction *);
void qemu_plugin_outs(const char *);

#define EXPORT __attribute__((visibility("default")))
enum { ADD_TO_A_NUMBER = 0, MOST_PLACES = 1 << 20 };

EXPORT int qemu_plugin_version = 1;

/* The first row whose bits a word has under its mask is its kind (Arm Architecture Reference
 * Manual, chapter C4). */
static struct kind {
    const char *name;
    uint32_t mask, bits;
    uint64_t count;
} kinds[] = {
    {"multiply-add of float32", 0xbf80b400, 0x0f801000}, /* fmla, fmls by element */
    {"multiply-add of float32", 0xbf20fc00, 0x0e20cc00}, /* fmla, fmls of vectors */
    {"matrix product of bytes", 0xff20fc00, 0x4e00a400}, /* smmla */
    {"matrix product of bytes", 0xff20fc00, 0x6e00a400}, /* ummla */
    {"dot product of bytes", 0x9f20fc00, 0x0e009400},    /* sdot, udot of vectors */
    {"dot product of bytes", 0x9f00f400, 0x0f00e000},    /* sdot, udot by element */
    {"product of int16", 0x9f20fc00, 0x0e20c000},        /* smull, umull */
    {"product of int16", 0x9f20fc00, 0x0e208000},        /* smlal, umlal */
    {"prefetch", 0xffc00000, 0xf9800000},
    {"prefetch", 0xffe00c00, 0xf8a00800},
    {"prefetch", 0xffe00c00, 0xf8800000},
    {"load of a vector", 0xffc00000, 0x3dc00000},          /* ldr q, offset */
    {"load of a vector", 0xffe00000, 0x3ce00000},          /* ldr q, register */
    {"load of a vector", 0xffe00000, 0x3cc00000},          /* ldr q, moving */
    {"load of two vectors", 0xfe400000, 0xac400000},       /* ldp q */
    {"load of an element", 0x3f400000, 0x3d400000},
    {"load of an element", 0x3f600000, 0x3c600000},
    {"load of an element", 0x3f600000, 0x3c400000},
    {"load of an element", 0xbfff0000, 0x0d400000},        /* ld1 of one lane, ld1r */
    {"load of an element", 0xbfe00000, 0x0dc00000},
    {"load of a vector", 0xbf400000, 0x0c400000},          /* ld1 to ld4 */
    {"store of a vector", 0x3f000000, 0x3d000000},
    {"store of a vector", 0x3f000000, 0x3c000000},
    {"store of a vector", 0x3e000000, 0x2c000000},
    {"store of a vector", 0xbe000000, 0x0c000000},
    {"other vector", 0x0e000000, 0x0e000000},
    {"load or store of integers", 0x0a000000, 0x08000000},
    {"branch", 0x1c000000, 0x14000000},
    {"integer", 0, 0},
};

static struct place {
    uint64_t address, count;
    uint32_t word;
} *places[MOST_PLACES];
static size_t places_taken;
static unsigned long hottest;

static struct kind *kind_of(uint32_t word) {
    struct kind *kind = kinds;
    while ((word & kind->mask) != kind->bits)
        kind++;
    return kind;
}

static void count_block(plugin_id id, struct block *block) {
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);
        uint32_t word;
        memcpy(&word, qemu_plugin_insn_data(instruction), sizeof word);
        uint64_t *count = &kind_of(word)->count;
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD_TO_A_NUMBER, count, 1);
        if (!hottest || places_taken == MOST_PLACES)
            continue;
        struct place *place = places[places_taken++] = calloc(1, sizeof *place);
        place->address = qemu_plugin_insn_vaddr(instruction);
        place->word = word;
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD_TO_A_NUMBER, &place->count, 1);
    }
}

static int by_count(const void *a, const void *b) {
    const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
    return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static void tell(plugin_id id, void *nothing) {
    char line[100];
    for (struct kind *kind = kinds; kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        snprintf(line, sizeof line, "%s: %llu\n", kind->name, (unsigned long long)kind->count);
        qemu_plugin_outs(line);
    }
    qsort(places, places_taken, sizeof *places, by_count);
    for (size_t i = 0; i < hottest && i < places_taken; i++) {
        unsigned long long address = places[i]->address, count = places[i]->count;
        snprintf(line, sizeof line, "at %llx %08x: %llu\n", address, places[i]->word, count);
        qemu_plugin_outs(line);
    }
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments) {
    for (int i = 0; i < count; i++)
        if (!strncmp(arguments[i], "hottest=", 8))
            hottest = strtoul(arguments[i] + 8, NULL, 10);
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, tell, NULL);
    return 0;
}
