/* qkvet_abi.h: the function of a shared library that `qkvet check lib:./libattn.so` calls when no prototype is given.
 *
 *     #include "qkvet_abi.h"
 *     QKVET_EXPORT int qkvet_attention_v1(const struct qkvet_call_v1 *call) {
 *         if (call->key.shape[3] != call->query.shape[3]) return qkvet_v1_because(call, QKVET_V1_REFUSED, "widths differ");
 *         my_kernel((const float *)call->query.data, ..., (float *)call->output.data);
 *         return QKVET_V1_OK;
 *     }
 *
 *     cc -shared -fPIC -o libattn.so mine.c
 *
 * It is called in a process of its own, so that it may crash or hang. What each option means is in docs/wire.md.
 *
 * Names that end in _v1 never change. A later qkvet may add fields at the end of a struct; `struct_size` says how many bytes
 * there are. C99 or C++. No dependencies. SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef QKVET_ABI_H
#define QKVET_ABI_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QKVET_EXPORT __attribute__((visibility("default")))
#else
#define QKVET_EXPORT
#endif

/* The type code of DLPack times 256, and the bits of an element. */
enum {
    QKVET_V1_FLOAT64 = 2 * 256 + 64,
    QKVET_V1_FLOAT32 = 2 * 256 + 32,
    QKVET_V1_FLOAT16 = 2 * 256 + 16,
    QKVET_V1_BFLOAT16 = 4 * 256 + 16,
    QKVET_V1_FLOAT8_E4M3FN = 10 * 256 + 8,
    QKVET_V1_FLOAT8_E5M2 = 12 * 256 + 8,
    QKVET_V1_BOOL = 6 * 256 + 8, /* one byte, 1 attends */
    QKVET_V1_INT64 = 0 * 256 + 64
};

/* What qkvet_attention_v1 returns. */
enum {
    QKVET_V1_OK = 0,
    QKVET_V1_UNSUPPORTED = 1, /* not offered */
    QKVET_V1_REFUSED = 2,     /* offered, but this input is declined */
    QKVET_V1_ERROR = 3        /* it went wrong */
};

/* Element (i, j, ...) lies at data + (i * stride[0] + j * stride[1] + ...) elements. */
struct qkvet_tensor_v1 {
    void *data; /* NULL: there is no such tensor */
    uint32_t dtype;
    uint32_t n_axes;
    int64_t shape[8];
    int64_t stride[8];   /* in elements; 0 where a mask or bias is the same along an axis */
    int32_t device_type; /* of DLPack: 1 is the CPU, and nothing else comes yet */
    int32_t device_id;
};

struct qkvet_call_v1 {
    uint64_t struct_size;
    struct qkvet_tensor_v1 query; /* (b, h_q, n_q, d_k) */
    struct qkvet_tensor_v1 key;   /* (b, h_k, n_k, d_k) */
    struct qkvet_tensor_v1 value; /* (b, h_k, n_k, d_v) */
    struct qkvet_tensor_v1 mask;  /* (b, h_q, n_q, n_k) */
    struct qkvet_tensor_v1 bias;  /* the same */
    struct qkvet_tensor_v1 sinks; /* (h_q); so alibi_slopes */
    struct qkvet_tensor_v1 alibi_slopes;
    struct qkvet_tensor_v1 key_lengths; /* (b), int64; so query_lengths */
    struct qkvet_tensor_v1 query_lengths;
    struct qkvet_tensor_v1 query_offsets; /* int64, one more than there are packed sequences; so key_offsets */
    struct qkvet_tensor_v1 key_offsets;
    struct qkvet_tensor_v1 output;  /* to be written: (b, h_q, n_q, d_v), in the format of the query */
    struct qkvet_tensor_v1 weights; /* to be written unless data is NULL: (b, h_q, n_q, n_k), likewise */
    struct qkvet_tensor_v1 lse;     /* likewise: (b, h_q, n_q), float64 if the query is, else float32 */
    double scale;                   /* as asked for, else 1/sqrt(d_k) */
    double softcap;                 /* 0: none */
    int64_t window_left;            /* -1: open */
    int64_t window_right;
    int32_t has_scale; /* whether the scale was asked for */
    int32_t causal;
    char *reason; /* room for why, in ASCII, for every answer but QKVET_V1_OK */
    uint64_t reason_size;
};

/* The lists are words with spaces between; what is not listed is never asked. NULL stands for all dtypes, for the options "scale
 * causal mask bias" and for the outputs "output weights". */
struct qkvet_capabilities_v1 {
    uint64_t struct_size; /* sizeof(struct qkvet_capabilities_v1) */
    const char *name;     /* NULL: the file; so version and device */
    const char *version;
    const char *device;
    const char *dtypes;  /* "float64 float32 bfloat16 float16" */
    const char *options; /* "scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed" */
    const char *outputs; /* "output weights lse" */
};

/* What a library has to have. */
QKVET_EXPORT int qkvet_attention_v1(const struct qkvet_call_v1 *call);

/* What it may have. Without it, it is asked what NULL stands for. */
QKVET_EXPORT const struct qkvet_capabilities_v1 *qkvet_info_v1(void);

/* Puts down why: `return qkvet_v1_because(call, QKVET_V1_UNSUPPORTED, "head width > 128");` */
static inline int qkvet_v1_because(const struct qkvet_call_v1 *call, int status, const char *reason) {
    (void)snprintf(call->reason, (size_t)call->reason_size, "%s", reason);
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
