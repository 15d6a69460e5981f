/* qkvet_harness.h: lets `qkvet check exec:./program` call an attention function written in C or C++.
 *
 * Fill a `qkvet_program`, write one function, call `qkvet_main`. The header does the rest of the protocol qkvet-wire/1
 * (docs/wire.md): it reads the requests, checks them, hands over plain arrays and sends what the function wrote.
 *
 *     #include "qkvet_harness.h"                     // before all other headers: it asks them for POSIX
 *     static int attention(const qkvet_call *call, qkvet_output *out) {
 *         my_kernel((const float *)call->query.data, ..., (float *)out->output.data);
 *         return QKVET_OK;
 *     }
 *     int main(void) {
 *         qkvet_program program = {0};
 *         program.name = "mine";
 *         program.dtypes = "float32";
 *         program.options = "scale causal";
 *         program.attention = attention;
 *         return qkvet_main(&program);
 *     }
 *
 * C99 or C++, POSIX, little-endian. No dependencies. SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef QKVET_HARNESS_H
#define QKVET_HARNESS_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "qkvet_harness.h: expected a little-endian machine"
#endif
#endif

/* ---- What a program sees ---- */

typedef enum {
    QKVET_FLOAT64,
    QKVET_FLOAT32,
    QKVET_BFLOAT16,
    QKVET_FLOAT16,
    QKVET_FLOAT8_E4M3FN,
    QKVET_FLOAT8_E5M2,
    QKVET_BOOL,
    QKVET_INT64
} qkvet_dtype;

/* How a call ended. */
enum {
    QKVET_OK = 0,
    QKVET_UNSUPPORTED = 1, /* not offered */
    QKVET_REFUSED = 2,     /* offered, but this input is declined */
    QKVET_ERROR = 3,       /* it went wrong */
    QKVET_MALFORMED = 4    /* the function under test returned what is not a tensor */
};

enum { QKVET_MOST_AXES = 8, QKVET_REASON_SIZE = 256 };

/* Row-major without gaps. A mask has one byte an element, 1 attends. */
typedef struct {
    qkvet_dtype dtype;
    size_t n_axes;
    size_t shape[QKVET_MOST_AXES];
    size_t n_bytes; /* of data: product of shape times the size of an element */
    void *data;
} qkvet_tensor;

typedef struct {
    qkvet_tensor query;  /* (b, h_q, n_q, d_k) */
    qkvet_tensor key;    /* (b, h_k, n_k, d_k) */
    qkvet_tensor value;  /* (b, h_k, n_k, d_v) */
    qkvet_tensor mask;   /* data is NULL if there is none; 2 or 4 axes, broadcast to (b, h_q, n_q, n_k) */
    qkvet_tensor bias;   /* the same */
    size_t b, h_q, h_k, n_q, n_k, d_k, d_v;
    double scale;        /* as asked for, else 1/sqrt(d_k) */
    int has_scale;       /* whether it was asked for */
    int causal;          /* key j <= i + n_k - n_q */
    const char *case_id; /* for logs; may be empty */
    /* What follows is off unless qkvet_program.options lists it. Query i stands at key p = i + n_k - n_q, with the numbers of
     * its batch item or packed sequence, and counted from the first key of its sequence; causal is j <= p. */
    double softcap;             /* c > 0: c * tanh(x / c) of a scaled score x; 0 if there is none */
    int64_t window_left;        /* j >= p - window_left; -1 if that side is open */
    int64_t window_right;       /* j <= p + window_right; the same */
    qkvet_tensor sinks;         /* (h_q): exp(sink) joins the sum that the softmax divides by; data is NULL if there is none */
    qkvet_tensor alibi_slopes;  /* (h_q): -slope * |p - j| is added where the bias is */
    qkvet_tensor key_lengths;   /* (b), int64: keys of each item, the rest is padding; see qkvet_get_whole */
    qkvet_tensor query_lengths; /* (b), int64: queries of each item, the rest sees no key */
    qkvet_tensor query_offsets; /* int64: where each packed sequence begins, and n_q; option "packed", with key_offsets */
    qkvet_tensor key_offsets;   /* int64: the same of its keys, and n_k */
} qkvet_call;

/* The tensors are allocated, and filled with NaN so that what is not written shows. */
typedef struct {
    qkvet_tensor output;  /* (b, h_q, n_q, d_v), in the format of the query */
    qkvet_tensor weights; /* (b, h_q, n_q, n_k); data is NULL if they were not asked for */
    int fatal;            /* set to 1 if the process is of no use after this call */
    char reason[QKVET_REASON_SIZE]; /* ASCII, for every answer but QKVET_OK; see qkvet_because */
    qkvet_tensor lse; /* (b, h_q, n_q), float64 if the query is, else float32; data is NULL if it was not asked for */
} qkvet_output;

/* The lists are words with spaces between; what is not listed is never asked. NULL stands for all dtypes that qkvet knows, for
 * the options "scale causal mask bias" and for the outputs "output weights". */
typedef struct {
    const char *name;
    const char *version; /* NULL, or shown in reports; so is device */
    const char *device;
    const char *dtypes;  /* "float64 float32 bfloat16 float16" */
    const char *options; /* "scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed" */
    const char *outputs; /* "output weights lse" */
    int (*attention)(const qkvet_call *call, qkvet_output *out);
} qkvet_program;

/* Speaks with qkvet until it is done. Returns what main should return. */
static inline int qkvet_main(const qkvet_program *program);

/* Puts down why, as printf does: `return qkvet_because(out, QKVET_UNSUPPORTED, "head width %zu > 128", call->d_k);` */
static inline int qkvet_because(qkvet_output *out, int status, const char *format, ...);

/* Element `idx` of a tensor of any format, exactly. */
static inline double qkvet_get(const qkvet_tensor *tensor, size_t idx);

/* The same of a mask or bias that is broadcast, at batch item b, head h, query i, key j. */
static inline double qkvet_get_at(const qkvet_tensor *tensor, size_t b, size_t h, size_t i, size_t j);

/* Element `idx` of lengths or offsets. */
static inline int64_t qkvet_get_whole(const qkvet_tensor *tensor, size_t idx);

/* The keys first <= j < end that a query may see, mask and bias aside, and the key that it stands at. */
typedef struct {
    int64_t first, end, position;
} qkvet_reach;

/* That of query i of batch item b: causal, window, lengths and packed sequences in one. */
static inline qkvet_reach qkvet_reach_of(const qkvet_call *call, size_t b, size_t i);

/* Writes element `idx`, rounded once to the tensor's format, ties to even. */
static inline void qkvet_set(qkvet_tensor *tensor, size_t idx, double x);

/* ---- Formats ---- */

typedef struct {
    const char *name;
    size_t size;
    int n_mantissa; /* bits stored, for the formats below 32 bits */
    int bias;       /* of the exponent */
} qkvet_format;

static inline const qkvet_format *qkvet_format_of(qkvet_dtype dtype) {
    static const qkvet_format formats[] = {
        {"float64", 8, 52, 1023}, {"float32", 4, 23, 127},    {"bfloat16", 2, 7, 127}, {"float16", 2, 10, 15},
        {"float8_e4m3fn", 1, 3, 7}, {"float8_e5m2", 1, 2, 15}, {"bool", 1, 0, 0},
        {"int64", 8, 0, 0},
    };
    return &formats[dtype];
}

/* The largest storage bits that stand for a finite number; e4m3fn has no infinity. */
static inline unsigned qkvet_largest_bits(qkvet_dtype dtype) {
    switch (dtype) {
    case QKVET_BFLOAT16: return 0x7f7f;
    case QKVET_FLOAT16: return 0x7bff;
    case QKVET_FLOAT8_E4M3FN: return 0x7e;
    default: return 0x7b; /* float8_e5m2 */
    }
}

static inline double qkvet_from_bits(qkvet_dtype dtype, unsigned bits) {
    const qkvet_format *format = qkvet_format_of(dtype);
    unsigned sign = 1u << (8 * format->size - 1), magnitude = bits & (sign - 1);
    unsigned fraction = magnitude & ((1u << format->n_mantissa) - 1);
    int exponent = (int)(magnitude >> format->n_mantissa);
    double x;
    if (magnitude > qkvet_largest_bits(dtype)) {
        x = (fraction == 0) ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        x = ldexp((double)fraction, 1 - format->bias - format->n_mantissa);
    } else {
        x = ldexp((double)(fraction + (1u << format->n_mantissa)), exponent - format->bias - format->n_mantissa);
    }
    return (bits & sign) ? -x : x;
}

static inline unsigned qkvet_to_bits(qkvet_dtype dtype, double x) {
    const qkvet_format *format = qkvet_format_of(dtype);
    unsigned largest = qkvet_largest_bits(dtype), bits;
    unsigned sign = signbit(x) ? 1u << (8 * format->size - 1) : 0;
    int exponent;
    if (isnan(x)) return (1u << (8 * format->size - 1)) - 1;
    x = fabs(x);
    if (x == 0) return sign;
    if (isinf(x)) return sign | (largest + 1);
    (void)frexp(x, &exponent); /* x = m * 2^exponent with 1/2 <= m < 1 */
    if (exponent < 2 - format->bias) exponent = 2 - format->bias; /* subnormals share one spacing */
    /* In units of the spacing around x, an integer below 2^(n_mantissa + 1) that rint rounds once. */
    x = rint(ldexp(x, format->n_mantissa + 1 - exponent));
    if (exponent - 2 + format->bias > 0x1ff) return sign | (largest + 1);
    /* The leading bit carries into the exponent, as it does when rounding reaches the next power of two. */
    bits = ((unsigned)(exponent - 2 + format->bias) << format->n_mantissa) + (unsigned)x;
    return sign | (bits > largest ? largest + 1 : bits);
}

static inline double qkvet_get(const qkvet_tensor *tensor, size_t idx) {
    const unsigned char *at = (const unsigned char *)tensor->data + idx * qkvet_format_of(tensor->dtype)->size;
    double x64;
    float x32;
    uint16_t bits;
    switch (tensor->dtype) {
    case QKVET_FLOAT64: memcpy(&x64, at, sizeof x64); return x64;
    case QKVET_FLOAT32: memcpy(&x32, at, sizeof x32); return (double)x32;
    case QKVET_BOOL: return *at ? 1.0 : 0.0;
    case QKVET_INT64: return (double)qkvet_get_whole(tensor, idx);
    case QKVET_BFLOAT16:
    case QKVET_FLOAT16: memcpy(&bits, at, sizeof bits); return qkvet_from_bits(tensor->dtype, bits);
    default: return qkvet_from_bits(tensor->dtype, *at);
    }
}

static inline int64_t qkvet_get_whole(const qkvet_tensor *tensor, size_t idx) {
    int64_t n;
    memcpy(&n, (const unsigned char *)tensor->data + idx * sizeof n, sizeof n);
    return n;
}

static inline double qkvet_get_at(const qkvet_tensor *tensor, size_t b, size_t h, size_t i, size_t j) {
    const size_t *shape = tensor->shape + (tensor->n_axes == 4 ? 2 : 0); /* the last two axes */
    size_t outer = 0;
    if (tensor->n_axes == 4) {
        outer = (tensor->shape[0] == 1 ? 0 : b) * tensor->shape[1] + (tensor->shape[1] == 1 ? 0 : h);
    }
    return qkvet_get(tensor, (outer * shape[0] + (shape[0] == 1 ? 0 : i)) * shape[1] + (shape[1] == 1 ? 0 : j));
}

static inline void qkvet_set(qkvet_tensor *tensor, size_t idx, double x) {
    unsigned char *at = (unsigned char *)tensor->data + idx * qkvet_format_of(tensor->dtype)->size;
    float x32 = (float)x;
    int64_t whole;
    uint16_t bits;
    switch (tensor->dtype) {
    case QKVET_FLOAT64: memcpy(at, &x, sizeof x); break;
    case QKVET_FLOAT32: memcpy(at, &x32, sizeof x32); break;
    case QKVET_BOOL: *at = x != 0; break;
    case QKVET_INT64:
        whole = (int64_t)x;
        memcpy(at, &whole, sizeof whole);
        break;
    case QKVET_BFLOAT16:
    case QKVET_FLOAT16:
        bits = (uint16_t)qkvet_to_bits(tensor->dtype, x);
        memcpy(at, &bits, sizeof bits);
        break;
    default: *at = (unsigned char)qkvet_to_bits(tensor->dtype, x);
    }
}

static inline qkvet_reach qkvet_reach_of(const qkvet_call *call, size_t b, size_t i) {
    qkvet_reach keys = {0, 0, 0};
    int64_t query_end = (int64_t)call->n_q, query = (int64_t)i;
    size_t s = 0;
    keys.end = (int64_t)call->n_k;
    if (call->query_offsets.data != NULL) {
        while (qkvet_get_whole(&call->query_offsets, s + 1) <= query) s++;
        query_end = qkvet_get_whole(&call->query_offsets, s + 1);
        keys.first = qkvet_get_whole(&call->key_offsets, s);
        keys.end = qkvet_get_whole(&call->key_offsets, s + 1);
    }
    if (call->query_lengths.data != NULL) query_end = qkvet_get_whole(&call->query_lengths, b);
    if (call->key_lengths.data != NULL) keys.end = qkvet_get_whole(&call->key_lengths, b);
    keys.position = query + keys.end - query_end; /* the last query stands at the last key */
    if (query >= query_end) keys.end = keys.first;
    if (call->causal && keys.end > keys.position + 1) keys.end = keys.position + 1;
    if (call->window_right >= 0 && keys.end - keys.position - 1 > call->window_right) {
        keys.end = keys.position + call->window_right + 1;
    }
    if (call->window_left >= 0 && keys.position - keys.first > call->window_left) {
        keys.first = keys.position - call->window_left;
    }
    return keys;
}

static inline int qkvet_because(qkvet_output *out, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->reason, sizeof out->reason, format, arguments);
    va_end(arguments);
    return status;
}

/* Whether a word of `length` characters is in a list with spaces between; everything is in an absent list. */
static inline int qkvet_lists(const char *list, const char *word, size_t length) {
    if (list == NULL) return 1;
    while (*list != '\0') {
        size_t n = strcspn(list, " ");
        if (n == length && strncmp(list, word, n) == 0) return 1;
        list += n + strspn(list + n, " ");
    }
    return 0;
}

/* ---- JSON: a line becomes an array of values, its strings are decoded where they stand ---- */

typedef enum {
    QKVET_JSON_NULL,
    QKVET_JSON_FALSE,
    QKVET_JSON_TRUE,
    QKVET_JSON_NUMBER,
    QKVET_JSON_STRING,
    QKVET_JSON_ARRAY,
    QKVET_JSON_OBJECT
} qkvet_json_kind;

typedef struct {
    qkvet_json_kind kind;
    const char *key; /* of a member of an object; ends in NUL */
    char *text;      /* a string after its escapes, ends in NUL; a number as it is written, does not */
    size_t length;
    size_t child, next; /* index of the first entry and of the next sibling; 0 is none, the root is nobody's */
} qkvet_json;

typedef struct {
    char *at, *end; /* *end is NUL */
    qkvet_json *values;
    size_t n_values, room;
    const char *expected; /* what was missing at `at`; NULL while all is well */
} qkvet_reader;

enum { QKVET_MOST_DEPTH = 32 };

static inline int qkvet_expected(qkvet_reader *reader, const char *what) {
    if (reader->expected == NULL) reader->expected = what;
    return 0;
}

static inline void qkvet_blanks(qkvet_reader *reader) {
    reader->at += strspn(reader->at, " \t\r\n");
}

/* Passes over one character after blanks, if it is there. */
static inline int qkvet_take(qkvet_reader *reader, char c) {
    qkvet_blanks(reader);
    if (*reader->at != c) return 0;
    reader->at++;
    return 1;
}

static inline int qkvet_hex4(qkvet_reader *reader, unsigned *code) {
    int i;
    *code = 0;
    for (i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *reader->at ? strchr(digits, *reader->at) : NULL;
        if (digit == NULL) return qkvet_expected(reader, "four hexadecimal digits");
        *code = *code * 16 + (unsigned)(digit - digits - (digit - digits > 15 ? 6 : 0));
        reader->at++;
    }
    return 1;
}

/* The part of a string after `\u`, written as UTF-8, which is never longer than the escape. */
static inline int qkvet_unicode(qkvet_reader *reader, char **to) {
    unsigned code, low;
    if (!qkvet_hex4(reader, &code)) return 0;
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->at[0] != '\\' || reader->at[1] != 'u') return qkvet_expected(reader, "the other surrogate");
        reader->at += 2;
        if (!qkvet_hex4(reader, &low)) return 0;
        if (low < 0xdc00 || low > 0xdfff) return qkvet_expected(reader, "the other surrogate");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return qkvet_expected(reader, "a surrogate pair");
    }
    if (code < 0x80) {
        *(*to)++ = (char)code;
    } else {
        int n_more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        *(*to)++ = (char)((0xf0u << (3 - n_more) & 0xffu) | code >> (6 * n_more));
        while (n_more-- > 0) *(*to)++ = (char)(0x80u | (code >> (6 * n_more) & 0x3fu));
    }
    return 1;
}

/* A string; `at` is behind its opening quote. */
static inline int qkvet_string(qkvet_reader *reader, char **text, size_t *length) {
    char *to = reader->at;
    *text = to;
    for (;;) {
        static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        char c = *reader->at;
        if ((unsigned char)c < 0x20) return qkvet_expected(reader, "the end of a string");
        reader->at++;
        if (c == '"') break;
        if (c == '\\') {
            char escape = *reader->at;
            const char *known = escape ? strchr(escapes, escape) : NULL;
            if (escape == 'u') {
                reader->at++;
                if (!qkvet_unicode(reader, &to)) return 0;
                continue;
            }
            if (known == NULL) return qkvet_expected(reader, "an escape of JSON");
            reader->at++;
            c = meanings[known - escapes];
        }
        *to++ = c;
    }
    *length = (size_t)(to - *text);
    *to = '\0'; /* on the closing quote or before it */
    return 1;
}

static inline int qkvet_digits(qkvet_reader *reader) {
    size_t n = strspn(reader->at, "0123456789");
    reader->at += n;
    return n > 0 || qkvet_expected(reader, "a digit");
}

static inline int qkvet_number(qkvet_reader *reader) {
    if (*reader->at == '-') reader->at++;
    if (*reader->at == '0') {
        reader->at++;
    } else if (!qkvet_digits(reader)) {
        return 0;
    }
    if (*reader->at == '.') {
        reader->at++;
        if (!qkvet_digits(reader)) return 0;
    }
    if (*reader->at == 'e' || *reader->at == 'E') {
        reader->at++;
        if (*reader->at == '+' || *reader->at == '-') reader->at++;
        if (!qkvet_digits(reader)) return 0;
    }
    return 1;
}

static inline int qkvet_value(qkvet_reader *reader, size_t *idx, int depth);

/* The entries of an array or object until its closing bracket; `at` is behind the opening one. */
static inline int qkvet_entries(qkvet_reader *reader, size_t parent, int depth, char closing) {
    size_t last = 0;
    if (qkvet_take(reader, closing)) return 1;
    do {
        char *key = NULL;
        size_t idx, key_length;
        if (closing == '}') {
            if (!qkvet_take(reader, '"')) return qkvet_expected(reader, "a name in quotes");
            if (!qkvet_string(reader, &key, &key_length)) return 0;
            if (!qkvet_take(reader, ':')) return qkvet_expected(reader, "a colon");
        }
        if (!qkvet_value(reader, &idx, depth)) return 0;
        reader->values[idx].key = key;
        if (last == 0) {
            reader->values[parent].child = idx;
        } else {
            reader->values[last].next = idx;
        }
        last = idx;
    } while (qkvet_take(reader, ','));
    return qkvet_take(reader, closing) || qkvet_expected(reader, "a comma or a closing bracket");
}

static inline int qkvet_value(qkvet_reader *reader, size_t *idx, int depth) {
    static const char *const words[] = {"null", "false", "true"}; /* in the order of the kinds */
    qkvet_json value = {QKVET_JSON_NULL, NULL, NULL, 0, 0, 0};
    int word, known = 0;
    char closing = '\0';
    if (depth > QKVET_MOST_DEPTH) return qkvet_expected(reader, "fewer brackets inside each other");
    qkvet_blanks(reader);
    value.text = reader->at;
    for (word = 0; word < 3 && !known; word++) {
        if (strncmp(reader->at, words[word], strlen(words[word])) == 0) {
            reader->at += strlen(words[word]);
            value.kind = (qkvet_json_kind)word;
            known = 1;
        }
    }
    if (!known) {
        if (*reader->at == '"') {
            reader->at++;
            value.kind = QKVET_JSON_STRING;
            if (!qkvet_string(reader, &value.text, &value.length)) return 0;
        } else if (*reader->at == '[' || *reader->at == '{') {
            value.kind = *reader->at == '[' ? QKVET_JSON_ARRAY : QKVET_JSON_OBJECT;
            closing = *reader->at++ == '[' ? ']' : '}';
        } else if (*reader->at == '-' || (*reader->at >= '0' && *reader->at <= '9')) {
            value.kind = QKVET_JSON_NUMBER;
            if (!qkvet_number(reader)) return 0;
            value.length = (size_t)(reader->at - value.text);
        } else {
            return qkvet_expected(reader, "a value");
        }
    }
    if (reader->n_values == reader->room) {
        /* No more values than characters, each of which is in memory: twice the room does not overflow in practice. */
        size_t room = reader->room ? 2 * reader->room : 64;
        void *larger = room > SIZE_MAX / sizeof value ? NULL : realloc(reader->values, room * sizeof value);
        if (larger == NULL) return qkvet_expected(reader, "less, for there is no memory");
        reader->values = (qkvet_json *)larger;
        reader->room = room;
    }
    *idx = reader->n_values++;
    reader->values[*idx] = value;
    return closing == '\0' || qkvet_entries(reader, *idx, depth + 1, closing);
}

/* Reads the whole line; 0 if it is not one object. */
static inline int qkvet_read_json(qkvet_reader *reader, char *line, size_t length) {
    size_t root;
    reader->at = line;
    reader->end = line + length;
    reader->n_values = 0;
    reader->expected = NULL;
    if (!qkvet_value(reader, &root, 0)) return 0;
    qkvet_blanks(reader);
    if (reader->at != reader->end) return qkvet_expected(reader, "the end of the line");
    return reader->values[root].kind == QKVET_JSON_OBJECT || qkvet_expected(reader, "an object");
}

/* The member of an object, or NULL. */
static inline const qkvet_json *qkvet_member(const qkvet_reader *reader, const qkvet_json *object, const char *key) {
    size_t idx = object != NULL && object->kind == QKVET_JSON_OBJECT ? object->child : 0;
    while (idx != 0 && strcmp(reader->values[idx].key, key) != 0) idx = reader->values[idx].next;
    return idx != 0 ? &reader->values[idx] : NULL;
}

/* A whole number from 0 that fits; 0 if it is not one. */
static inline int qkvet_whole(const qkvet_json *json, uint64_t *n) {
    size_t at;
    *n = 0;
    if (json == NULL || json->kind != QKVET_JSON_NUMBER) return 0;
    for (at = 0; at < json->length; at++) {
        uint64_t digit = (uint64_t)(json->text[at] - '0');
        if (json->text[at] < '0' || json->text[at] > '9' || *n > (UINT64_MAX - digit) / 10) return 0;
        *n = *n * 10 + digit;
    }
    return 1;
}

static inline int qkvet_size(const qkvet_json *json, size_t *n) {
    uint64_t whole;
    int is_whole = qkvet_whole(json, &whole);
    *n = (size_t)whole;
    return is_whole && *n == whole;
}

/* ---- Base64 and files ---- */

static inline size_t qkvet_base64_length(size_t n_bytes) {
    return n_bytes / 3 * 4 + (n_bytes % 3 ? 4 : 0);
}

/* `to` has room for `n_bytes`; 0 if the text does not stand for exactly so many. */
static inline int qkvet_from_base64(const char *text, size_t length, unsigned char *to, size_t n_bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char value[256];
    size_t at, n_digits = n_bytes / 3 * 4 + (n_bytes % 3 ? n_bytes % 3 + 1 : 0), n_written = 0;
    uint32_t bits = 0;
    int n_bits = 0;
    if (n_bytes > SIZE_MAX / 2 || length != qkvet_base64_length(n_bytes)) return 0;
    memset(value, 0xff, sizeof value);
    for (at = 0; at < 64; at++) value[(unsigned char)digits[at]] = (unsigned char)at;
    for (at = 0; at < n_digits; at++) {
        unsigned char digit = value[(unsigned char)text[at]];
        if (digit == 0xff) return 0;
        bits = (bits << 6 | digit) & 0xffffffu;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            to[n_written++] = (unsigned char)(bits >> n_bits & 0xffu);
        }
    }
    for (; at < length; at++) {
        if (text[at] != '=') return 0;
    }
    return (bits & ((1u << n_bits) - 1)) == 0; /* bits that no byte takes up are 0 */
}

static inline void qkvet_send_base64(FILE *to, const unsigned char *from, size_t n_bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096];
    size_t at, n = 0;
    for (at = 0; at < n_bytes; at += 3) {
        size_t left = n_bytes - at;
        uint32_t bits = (uint32_t)from[at] << 16;
        if (left > 1) bits |= (uint32_t)from[at + 1] << 8;
        if (left > 2) bits |= (uint32_t)from[at + 2];
        text[n++] = digits[bits >> 18 & 63];
        text[n++] = digits[bits >> 12 & 63];
        text[n++] = '=';
        text[n++] = '=';
        if (left > 1) text[n - 2] = digits[bits >> 6 & 63];
        if (left > 2) text[n - 1] = digits[bits & 63];
        if (n == sizeof text) {
            (void)fwrite(text, 1, n, to);
            n = 0;
        }
    }
    (void)fwrite(text, 1, n, to);
}

/* Opens a file of the scratch folder; NULL if its name would leave the folder. */
static inline FILE *qkvet_open(const char *scratch, const char *name, const char *mode) {
    size_t room;
    char *path;
    FILE *file;
    if (scratch == NULL || *name == '\0' || *name == '.' || strchr(name, '/') != NULL) return NULL;
    room = strlen(scratch) + strlen(name) + 2;
    path = (char *)malloc(room);
    if (path == NULL) return NULL;
    (void)snprintf(path, room, "%s/%s", scratch, name);
    file = fopen(path, mode);
    free(path);
    return file;
}

/* ---- Requests ---- */

/* What lasts from one request to the next. */
typedef struct {
    const qkvet_program *program;
    FILE *requests, *answers;
    qkvet_reader reader;
    char *scratch;       /* NULL if none was named */
    int takes_files;     /* whether qkvet reads answers from files */
} qkvet_session;

enum { QKVET_INLINE_LIMIT = 256 * 1024 };

/* Computes n_bytes from format and shape; 0 if that is more than can be addressed. */
static inline int qkvet_measure(qkvet_tensor *tensor) {
    size_t axis;
    tensor->n_bytes = qkvet_format_of(tensor->dtype)->size;
    for (axis = 0; axis < tensor->n_axes; axis++) {
        size_t n = tensor->shape[axis];
        if (n != 0 && tensor->n_bytes > SIZE_MAX / 2 / n) return 0;
        tensor->n_bytes *= n;
    }
    return 1;
}

/* Never NULL for want of bytes, which stands for "no tensor". */
static inline int qkvet_allocate(qkvet_tensor *tensor) {
    tensor->data = malloc(tensor->n_bytes ? tensor->n_bytes : 1);
    if (tensor->data != NULL) memset(tensor->data, 0xff, tensor->n_bytes); /* a NaN in every format */
    return tensor->data != NULL;
}

/* Elements from a file: 0 if it is not there or too short. */
static inline int qkvet_load(const qkvet_session *session, const char *name, size_t offset, qkvet_tensor *tensor) {
    FILE *file = qkvet_open(session->scratch, name, "rb");
    int loaded;
    if (file == NULL) return 0;
    loaded = (uint64_t)offset <= (uint64_t)INT64_MAX / 2 && fseeko(file, (off_t)offset, SEEK_SET) == 0 &&
             fread(tensor->data, 1, tensor->n_bytes, file) == tensor->n_bytes;
    (void)fclose(file);
    return loaded;
}

static inline int qkvet_tensor_from(
    const qkvet_session *session, const qkvet_json *json, qkvet_tensor *tensor, qkvet_output *out) {
    const qkvet_reader *reader = &session->reader;
    const qkvet_json *dtype = qkvet_member(reader, json, "dtype"), *shape = qkvet_member(reader, json, "shape");
    const qkvet_json *data = qkvet_member(reader, json, "data"), *file = qkvet_member(reader, json, "file");
    const qkvet_json *from = qkvet_member(reader, json, "offset");
    const char *name = json->key;
    size_t idx, offset = 0;
    int known;
    if (dtype == NULL || dtype->kind != QKVET_JSON_STRING || shape == NULL || shape->kind != QKVET_JSON_ARRAY) {
        return qkvet_because(out, QKVET_ERROR, "%s: expected a tensor with dtype and shape", name);
    }
    for (known = QKVET_FLOAT64; known <= QKVET_INT64; known++) {
        if (strcmp(dtype->text, qkvet_format_of((qkvet_dtype)known)->name) == 0) break;
    }
    if (known > QKVET_INT64 ||
        (known < QKVET_BOOL && !qkvet_lists(session->program->dtypes, dtype->text, dtype->length))) {
        return qkvet_because(out, QKVET_UNSUPPORTED, "%s: dtype %.32s", name, dtype->text);
    }
    tensor->dtype = (qkvet_dtype)known;
    for (idx = shape->child; idx != 0; idx = reader->values[idx].next) {
        if (tensor->n_axes == QKVET_MOST_AXES || !qkvet_size(&reader->values[idx], &tensor->shape[tensor->n_axes++])) {
            return qkvet_because(out, QKVET_ERROR, "%s: expected a shape of at most 8 extents from 0", name);
        }
    }
    if (!qkvet_measure(tensor) || !qkvet_allocate(tensor)) {
        return qkvet_because(out, QKVET_ERROR, "%s: expected a tensor that fits into memory", name);
    }
    if (data != NULL && data->kind == QKVET_JSON_STRING) {
        if (!qkvet_from_base64(data->text, data->length, (unsigned char *)tensor->data, tensor->n_bytes)) {
            return qkvet_because(out, QKVET_ERROR, "%s: expected %zu bytes in %zu characters of base64, got %zu", name,
                                 tensor->n_bytes, qkvet_base64_length(tensor->n_bytes), data->length);
        }
    } else if (file != NULL && file->kind == QKVET_JSON_STRING && (from == NULL || qkvet_size(from, &offset))) {
        if (!qkvet_load(session, file->text, offset, tensor)) {
            return qkvet_because(out, QKVET_ERROR, "%s: expected %zu bytes in file %.64s from byte %zu", name,
                                 tensor->n_bytes, file->text, offset);
        }
    } else {
        return qkvet_because(out, QKVET_ERROR, "%s: expected data, or file and offset", name);
    }
    return QKVET_OK;
}

/* Whether the program offers an option; one that lists none offers the first four. */
static inline int qkvet_offers(const qkvet_session *session, const char *option) {
    const char *options = session->program->options;
    return qkvet_lists(options != NULL ? options : "scale causal mask bias", option, strlen(option));
}

/* `scale` and `scale_hex` are the same number; the second is exact whatever the parser does. So with softcap. */
static inline int qkvet_number_from(const qkvet_json *param, int is_hex, int is_known, double *x, qkvet_output *out) {
    char *end = param->text;
    double read;
    if (param->kind != (is_hex ? QKVET_JSON_STRING : QKVET_JSON_NUMBER)) {
        return qkvet_because(out, QKVET_ERROR, "%s: expected a number", param->key);
    }
    read = strtod(param->text, &end);
    if (param->length == 0 || end != param->text + param->length) {
        return qkvet_because(out, QKVET_ERROR, "%s: expected a number, got %.32s", param->key, param->text);
    }
    if (is_hex || !is_known) *x = read;
    return QKVET_OK;
}

static inline int qkvet_window_from(
    const qkvet_reader *reader, const qkvet_json *window, const char *name, int64_t *side, qkvet_output *out) {
    const qkvet_json *n = qkvet_member(reader, window, name);
    uint64_t whole;
    if (n == NULL || n->kind == QKVET_JSON_NULL) return QKVET_OK;
    if (!qkvet_whole(n, &whole)) {
        return qkvet_because(out, QKVET_ERROR, "window.%s: expected a whole number or null", name);
    }
    *side = whole > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)whole;
    return QKVET_OK;
}

static inline int qkvet_param(
    const qkvet_session *session, const qkvet_json *param, qkvet_call *call, qkvet_output *out) {
    const char *key = param->key;
    int is_hex = strcmp(key, "scale_hex") == 0 || strcmp(key, "softcap_hex") == 0, status;
    if ((strcmp(key, "scale") == 0 || strcmp(key, "scale_hex") == 0) && qkvet_offers(session, "scale")) {
        status = qkvet_number_from(param, is_hex, call->has_scale, &call->scale, out);
        call->has_scale = 1;
        return status;
    }
    if ((strcmp(key, "softcap") == 0 || strcmp(key, "softcap_hex") == 0) && qkvet_offers(session, "softcap")) {
        return qkvet_number_from(param, is_hex, call->softcap != 0, &call->softcap, out);
    }
    if (strcmp(key, "causal") == 0 && qkvet_offers(session, "causal")) {
        if (param->kind != QKVET_JSON_TRUE && param->kind != QKVET_JSON_FALSE) {
            return qkvet_because(out, QKVET_ERROR, "causal: expected true or false");
        }
        call->causal = param->kind == QKVET_JSON_TRUE;
        return QKVET_OK;
    }
    if (strcmp(key, "window") == 0 && qkvet_offers(session, "window")) {
        if (param->kind != QKVET_JSON_OBJECT) return qkvet_because(out, QKVET_ERROR, "window: expected left and right");
        status = qkvet_window_from(&session->reader, param, "left", &call->window_left, out);
        return status != QKVET_OK
            ? status
            : qkvet_window_from(&session->reader, param, "right", &call->window_right, out);
    }
    return qkvet_because(out, QKVET_UNSUPPORTED, "no option %.64s", key);
}

/* Whether a mask or bias, if there is one, spreads over (b, h_q, n_q, n_k). */
static inline int qkvet_spreads(const qkvet_tensor *tensor, const qkvet_call *call) {
    const size_t full[] = {call->b, call->h_q, call->n_q, call->n_k};
    size_t axis;
    if (tensor->data == NULL) return 1;
    if (tensor->n_axes != 2 && tensor->n_axes != 4) return 0;
    for (axis = 0; axis < tensor->n_axes; axis++) {
        size_t n = tensor->shape[axis];
        if (n != 1 && n != full[axis + 4 - tensor->n_axes]) return 0;
    }
    return (tensor->dtype == QKVET_BOOL) == (tensor == &call->mask) && tensor->dtype != QKVET_INT64;
}

/* Whether a tensor, if there is one, has one axis of n numbers. */
static inline int qkvet_is_row(const qkvet_tensor *tensor, size_t n, int is_whole) {
    return tensor->data == NULL || (tensor->n_axes == 1 && tensor->shape[0] == n &&
                                    (is_whole ? tensor->dtype == QKVET_INT64 : tensor->dtype < QKVET_BOOL));
}

/* Whether lengths, if there are any, are one of at most n for each item. */
static inline int qkvet_are_lengths(const qkvet_tensor *lengths, size_t b, size_t n) {
    size_t at;
    if (!qkvet_is_row(lengths, b, 1)) return 0;
    for (at = 0; lengths->data != NULL && at < b; at++) {
        int64_t length = qkvet_get_whole(lengths, at);
        if (length < 0 || (uint64_t)length > n) return 0;
    }
    return 1;
}

/* Whether offsets, if there are any, ascend from 0 to n. */
static inline int qkvet_are_offsets(const qkvet_tensor *offsets, size_t n) {
    int64_t last = 0;
    size_t at;
    if (offsets->data == NULL) return 1;
    if (offsets->n_axes != 1 || offsets->shape[0] == 0 || !qkvet_is_row(offsets, offsets->shape[0], 1)) return 0;
    for (at = 0; at < offsets->shape[0]; at++) {
        int64_t offset = qkvet_get_whole(offsets, at);
        if (offset < last || (at == 0 && offset != 0)) return 0;
        last = offset;
    }
    return (uint64_t)last == n;
}

/* Reads extents off the tensors and holds them against each other. */
static inline int qkvet_extents(qkvet_call *call, qkvet_output *out) {
    const qkvet_tensor *query = &call->query, *key = &call->key, *value = &call->value;
    if (query->data == NULL || key->data == NULL || value->data == NULL || query->n_axes != 4 || key->n_axes != 4 ||
        value->n_axes != 4) {
        return qkvet_because(out, QKVET_ERROR, "tensors: expected query, key and value with 4 axes each");
    }
    call->b = query->shape[0], call->h_q = query->shape[1], call->n_q = query->shape[2], call->d_k = query->shape[3];
    call->h_k = key->shape[1], call->n_k = key->shape[2], call->d_v = value->shape[3];
    if (key->shape[0] != call->b || key->shape[3] != call->d_k || value->shape[0] != call->b ||
        value->shape[1] != call->h_k || value->shape[2] != call->n_k || call->h_k == 0 || call->h_q % call->h_k != 0) {
        return qkvet_because(out, QKVET_ERROR,
                             "shapes: expected (b, h_q, n_q, d_k), (b, h_k, n_k, d_k) and (b, h_k, n_k, d_v)");
    }
    if (query->dtype >= QKVET_BOOL || key->dtype != query->dtype || value->dtype != query->dtype) {
        return qkvet_because(out, QKVET_ERROR, "dtypes: expected one format of numbers for query, key and value");
    }
    if (!qkvet_spreads(&call->mask, call) || !qkvet_spreads(&call->bias, call)) {
        return qkvet_because(out, QKVET_ERROR,
                             "mask, bias: expected bool, and numbers, that broadcast to (b, h_q, n_q, n_k)");
    }
    if (!qkvet_is_row(&call->sinks, call->h_q, 0) || !qkvet_is_row(&call->alibi_slopes, call->h_q, 0)) {
        return qkvet_because(out, QKVET_ERROR, "sinks, alibi_slopes: expected a number for each query head");
    }
    if (!qkvet_are_lengths(&call->key_lengths, call->b, call->n_k) ||
        !qkvet_are_lengths(&call->query_lengths, call->b, call->n_q)) {
        return qkvet_because(out, QKVET_ERROR, "lengths: expected an int64 for each item, at most n_k and n_q");
    }
    if (!qkvet_are_offsets(&call->key_offsets, call->n_k) || !qkvet_are_offsets(&call->query_offsets, call->n_q) ||
        (call->key_offsets.data == NULL) != (call->query_offsets.data == NULL) ||
        call->key_offsets.shape[0] != call->query_offsets.shape[0]) {
        return qkvet_because(out, QKVET_ERROR, "offsets: expected both, as many int64, ascending from 0 to n_q and n_k");
    }
    if (!call->has_scale) call->scale = 1 / sqrt((double)call->d_k);
    return QKVET_OK;
}

/* A result: three or four axes. */
static inline int qkvet_result(qkvet_tensor *tensor, const qkvet_call *call, qkvet_dtype dtype, size_t n_axes, size_t n) {
    const size_t shape[] = {call->b, call->h_q, call->n_q, n};
    tensor->dtype = dtype;
    tensor->n_axes = n_axes;
    memcpy(tensor->shape, shape, sizeof shape);
    return qkvet_measure(tensor) && qkvet_allocate(tensor);
}

enum { QKVET_N_TENSORS = 11 };

/* The tensors of a call, and their names on the wire. */
static inline const char *qkvet_input(qkvet_call *call, int at, qkvet_tensor **tensor) {
    static const char *const names[QKVET_N_TENSORS] = {
        "query", "key", "value", "mask", "bias", "sinks", "alibi_slopes", "key_lengths", "query_lengths", "query_offsets",
        "key_offsets"};
    qkvet_tensor *const tensors[QKVET_N_TENSORS] = {
        &call->query, &call->key, &call->value, &call->mask, &call->bias, &call->sinks, &call->alibi_slopes,
        &call->key_lengths, &call->query_lengths, &call->query_offsets, &call->key_offsets};
    *tensor = tensors[at];
    return names[at];
}

/* Puts a tensor of the request where it belongs. */
static inline int qkvet_place(qkvet_session *session, const qkvet_json *json, qkvet_call *call, qkvet_output *out) {
    qkvet_tensor *tensor;
    int at;
    for (at = 0; at < QKVET_N_TENSORS; at++) {
        const char *name = qkvet_input(call, at, &tensor);
        const char *option = strstr(name, "_offsets") != NULL ? "packed" : name;
        if (strcmp(json->key, name) != 0) continue;
        if (at > 2 && !qkvet_offers(session, option)) break;
        if (tensor->data != NULL) return qkvet_because(out, QKVET_ERROR, "%s: expected once", name);
        return qkvet_tensor_from(session, json, tensor, out);
    }
    return qkvet_because(out, QKVET_UNSUPPORTED, "no tensor %.64s", json->key);
}

/* From the request to a call with room for its results. What the program did not list is answered here. */
static inline int qkvet_prepare(qkvet_session *session, const qkvet_json *run, qkvet_call *call, qkvet_output *out) {
    const qkvet_reader *reader = &session->reader;
    const qkvet_json *params = qkvet_member(reader, run, "params"), *tensors = qkvet_member(reader, run, "tensors");
    const qkvet_json *want = qkvet_member(reader, run, "want"), *case_id = qkvet_member(reader, run, "case");
    const char *outputs = session->program->outputs != NULL ? session->program->outputs : "output weights";
    int status = QKVET_OK, wants_weights = 0, wants_lse = 0;
    qkvet_dtype dtype, wide;
    size_t idx;
    call->window_left = call->window_right = -1;
    call->case_id = case_id != NULL && case_id->kind == QKVET_JSON_STRING ? case_id->text : "";
    if ((params != NULL && params->kind != QKVET_JSON_OBJECT) || (want != NULL && want->kind != QKVET_JSON_ARRAY)) {
        return qkvet_because(out, QKVET_ERROR, "params, want: expected an object and a list");
    }
    for (idx = want != NULL ? want->child : 0; idx != 0; idx = reader->values[idx].next) {
        const qkvet_json *word = &reader->values[idx];
        int is_text = word->kind == QKVET_JSON_STRING;
        if (!is_text || !qkvet_lists("output weights lse", word->text, word->length) ||
            !qkvet_lists(outputs, word->text, word->length)) {
            return qkvet_because(out, QKVET_UNSUPPORTED, "no result %.64s", is_text ? word->text : "of that name");
        }
        wants_weights |= strcmp(word->text, "weights") == 0;
        wants_lse |= strcmp(word->text, "lse") == 0;
    }
    for (idx = params != NULL ? params->child : 0; idx != 0 && status == QKVET_OK; idx = reader->values[idx].next) {
        status = qkvet_param(session, &reader->values[idx], call, out);
    }
    idx = tensors != NULL && tensors->kind == QKVET_JSON_OBJECT ? tensors->child : 0;
    for (; idx != 0 && status == QKVET_OK; idx = reader->values[idx].next) {
        status = qkvet_place(session, &reader->values[idx], call, out);
    }
    if (status == QKVET_OK) status = qkvet_extents(call, out);
    if (status != QKVET_OK) return status;
    dtype = call->query.dtype;
    wide = dtype == QKVET_FLOAT64 ? QKVET_FLOAT64 : QKVET_FLOAT32;
    if (!qkvet_result(&out->output, call, dtype, 4, call->d_v) ||
        (wants_weights && !qkvet_result(&out->weights, call, dtype, 4, call->n_k)) ||
        (wants_lse && !qkvet_result(&out->lse, call, wide, 3, 1))) {
        status = qkvet_because(out, QKVET_ERROR, "results: expected tensors that fit into memory");
    }
    return status;
}

/* ---- Answers ---- */

/* A JSON string of ASCII: what is not becomes a question mark. */
static inline void qkvet_send_text(FILE *to, const char *text) {
    (void)fputc('"', to);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') (void)fputc('\\', to);
        (void)fputc(c == '\n' ? ' ' : c < 0x20 || c > 0x7e ? '?' : c, to);
    }
    (void)fputc('"', to);
}

/* `,"name":["one","two"]` from a list of words; nothing from an absent one. */
static inline void qkvet_send_list(FILE *to, const char *name, const char *words, char before) {
    if (words == NULL) return;
    (void)fprintf(to, "%c\"%s\":[", before, name);
    while (*words != '\0') {
        size_t n = strcspn(words, " ");
        (void)fprintf(to, "\"%.*s\"", (int)n, words);
        words += n + strspn(words + n, " ");
        if (*words != '\0') (void)fputc(',', to);
    }
    (void)fputc(']', to);
}

static inline void qkvet_answer_hello(qkvet_session *session, const qkvet_json *hello) {
    const qkvet_program *program = session->program;
    const qkvet_json *scratch = qkvet_member(&session->reader, hello, "scratch");
    const qkvet_json *payloads = qkvet_member(&session->reader, hello, "payloads");
    FILE *to = session->answers;
    size_t idx, wire;
    if (!qkvet_size(qkvet_member(&session->reader, hello, "wire"), &wire) || wire != 1) {
        (void)fputs("{\"ok\":false,\"message\":\"wire: expected 1\",", to);
        (void)fputs("\"hint\":\"get the qkvet_harness.h that comes with this qkvet\"}\n", to);
        return;
    }
    free(session->scratch);
    session->scratch = NULL;
    session->takes_files = 0;
    if (scratch != NULL && scratch->kind == QKVET_JSON_STRING) {
        session->scratch = (char *)malloc(scratch->length + 1);
        if (session->scratch != NULL) memcpy(session->scratch, scratch->text, scratch->length + 1);
    }
    for (idx = payloads != NULL ? payloads->child : 0; idx != 0; idx = session->reader.values[idx].next) {
        const qkvet_json *word = &session->reader.values[idx];
        if (word->kind == QKVET_JSON_STRING && strcmp(word->text, "file") == 0 && session->scratch != NULL) {
            session->takes_files = 1;
        }
    }
    (void)fputs("{\"ok\":true,\"wire\":1,\"name\":", to);
    qkvet_send_text(to, program->name != NULL ? program->name : "unnamed");
    if (program->version != NULL) {
        (void)fputs(",\"version\":", to);
        qkvet_send_text(to, program->version);
    }
    (void)fputs(",\"language\":\"c\"", to);
    if (program->device != NULL) {
        (void)fputs(",\"device\":", to);
        qkvet_send_text(to, program->device);
    }
    (void)fputs(",\"supports\":", to);
    qkvet_send_list(to, "payloads", session->takes_files ? "inline file" : "inline", '{');
    qkvet_send_list(to, "dtypes", program->dtypes, ',');
    qkvet_send_list(to, "options", program->options, ',');
    qkvet_send_list(to, "outputs", program->outputs, ',');
    (void)fputs("}}\n", to);
}

/* Writes the elements to the tensor's own file in the scratch folder; 0 if that fails. */
static inline int qkvet_store(const qkvet_session *session, const char *file_name, const qkvet_tensor *tensor) {
    FILE *file = qkvet_open(session->scratch, file_name, "wb");
    int stored;
    if (file == NULL) return 0;
    stored = fwrite(tensor->data, 1, tensor->n_bytes, file) == tensor->n_bytes;
    return fclose(file) == 0 && stored;
}

static inline void qkvet_send_tensor(const qkvet_session *session, const char *name, const qkvet_tensor *tensor) {
    FILE *to = session->answers;
    char file_name[32];
    size_t axis;
    (void)fprintf(to, "\"%s\":{\"dtype\":\"%s\",\"shape\":[", name, qkvet_format_of(tensor->dtype)->name);
    for (axis = 0; axis < tensor->n_axes; axis++) (void)fprintf(to, "%s%zu", axis ? "," : "", tensor->shape[axis]);
    (void)fputc(']', to);
    (void)snprintf(file_name, sizeof file_name, "harness-%.16s.bin", name);
    if (session->takes_files && tensor->n_bytes > QKVET_INLINE_LIMIT && qkvet_store(session, file_name, tensor)) {
        (void)fprintf(to, ",\"file\":\"%s\",\"offset\":0}", file_name);
    } else {
        (void)fputs(",\"data\":\"", to);
        qkvet_send_base64(to, (const unsigned char *)tensor->data, tensor->n_bytes);
        (void)fputs("\"}", to);
    }
}

/* Whether n_bytes is still what format and shape say: the function may have changed all three. */
static inline int qkvet_is_tensor(const qkvet_tensor *claimed) {
    qkvet_tensor tensor = *claimed;
    return tensor.data == NULL || (tensor.n_axes <= QKVET_MOST_AXES && (unsigned)tensor.dtype <= QKVET_INT64 &&
                                   qkvet_measure(&tensor) && tensor.n_bytes == claimed->n_bytes);
}

/* Calls the function, and tells whether it left its inputs alone. */
static inline int qkvet_run_program(
    const qkvet_program *program, qkvet_call *call, qkvet_output *out, int *unchanged, uint64_t *nanoseconds) {
    void *copies[QKVET_N_TENSORS];
    qkvet_tensor *input;
    struct timespec start, end;
    int at, status;
    for (at = 0; at < QKVET_N_TENSORS; at++) {
        (void)qkvet_input(call, at, &input);
        copies[at] = input->data != NULL ? malloc(input->n_bytes ? input->n_bytes : 1) : NULL;
        if (copies[at] != NULL) memcpy(copies[at], input->data, input->n_bytes);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    status = program->attention(call, out);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    *nanoseconds = (uint64_t)(((int64_t)end.tv_sec - (int64_t)start.tv_sec) * 1000000000 +
                              ((int64_t)end.tv_nsec - (int64_t)start.tv_nsec));
    *unchanged = 1;
    for (at = 0; at < QKVET_N_TENSORS; at++) {
        (void)qkvet_input(call, at, &input);
        if (copies[at] != NULL && memcmp(copies[at], input->data, input->n_bytes) != 0) *unchanged = 0;
        free(copies[at]);
    }
    if (status == QKVET_OK &&
        (!qkvet_is_tensor(&out->output) || !qkvet_is_tensor(&out->weights) || !qkvet_is_tensor(&out->lse))) {
        return qkvet_because(out, QKVET_MALFORMED, "results: expected as many bytes as format and shape say");
    }
    return status;
}

static inline void qkvet_answer_run(qkvet_session *session, const qkvet_json *run) {
    static const char *const words[] = {"ok", "unsupported", "refused", "error", "malformed"};
    qkvet_call call;
    qkvet_output out;
    uint64_t seq, nanoseconds = 0;
    qkvet_tensor *input;
    int status, unchanged = 1, at;
    FILE *to = session->answers;
    memset(&call, 0, sizeof call);
    memset(&out, 0, sizeof out);
    if (qkvet_whole(qkvet_member(&session->reader, run, "seq"), &seq)) {
        status = qkvet_prepare(session, run, &call, &out);
    } else {
        status = qkvet_because(&out, QKVET_ERROR, "seq: expected a whole number");
    }
    if (status == QKVET_OK) status = qkvet_run_program(session->program, &call, &out, &unchanged, &nanoseconds);
    if (status < QKVET_OK || status > QKVET_MALFORMED) status = QKVET_ERROR;
    (void)fprintf(to, "{\"seq\":%llu,\"status\":\"%s\"", (unsigned long long)seq, words[status]);
    if (status == QKVET_OK) {
        (void)fprintf(to, ",\"inputs_unchanged\":%s,\"nanoseconds\":%llu,\"tensors\":{", unchanged ? "true" : "false",
                      (unsigned long long)nanoseconds);
        qkvet_send_tensor(session, "output", &out.output);
        if (out.weights.data != NULL) {
            (void)fputc(',', to);
            qkvet_send_tensor(session, "weights", &out.weights);
        }
        if (out.lse.data != NULL) {
            (void)fputc(',', to);
            qkvet_send_tensor(session, "lse", &out.lse);
        }
        (void)fputc('}', to);
    } else {
        (void)fputs(",\"reason\":", to);
        qkvet_send_text(to, out.reason[0] != '\0' ? out.reason : "no reason given");
    }
    (void)fputs(out.fatal ? ",\"fatal\":true}\n" : "}\n", to);
    for (at = 0; at < QKVET_N_TENSORS; at++) {
        (void)qkvet_input(&call, at, &input);
        free(input->data);
    }
    free(out.output.data), free(out.weights.data), free(out.lse.data);
}

/* One line of the conversation; 0 if it ends here. */
static inline int qkvet_answer(qkvet_session *session, char *line, size_t length) {
    qkvet_reader *reader = &session->reader;
    const qkvet_json *op;
    const char *name;
    if (line[strspn(line, " \t\r\n")] == '\0') return 1;
    if (!qkvet_read_json(reader, line, length)) {
        (void)fputs("{\"seq\":0,\"status\":\"error\",\"reason\":\"request: expected ", session->answers);
        (void)fprintf(session->answers, "%s at byte %zu\"}\n", reader->expected, (size_t)(reader->at - line));
    } else {
        op = qkvet_member(reader, reader->values, "op");
        name = op != NULL && op->kind == QKVET_JSON_STRING ? op->text : "";
        if (strcmp(name, "stop") == 0) return 0;
        if (strcmp(name, "hello") == 0) {
            qkvet_answer_hello(session, reader->values);
        } else if (strcmp(name, "run") == 0) {
            qkvet_answer_run(session, reader->values);
        } else {
            (void)fputs("{\"seq\":0,\"status\":\"unsupported\",\"reason\":\"no such op\"}\n", session->answers);
        }
    }
    return fflush(session->answers) == 0;
}

/* A copy of one of the standard descriptors for the protocol alone: libraries, and children of theirs, get `other`. */
static inline FILE *qkvet_move_away(int descriptor, int other, const char *mode) {
    int own = dup(descriptor);
    if (own < 0 || other < 0 || fcntl(own, F_SETFD, FD_CLOEXEC) < 0 || dup2(other, descriptor) < 0) return NULL;
    return fdopen(own, mode);
}

static inline int qkvet_main(const qkvet_program *program) {
    qkvet_session session;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int nothing = open("/dev/null", O_RDONLY);
    memset(&session, 0, sizeof session);
    session.program = program;
    session.requests = qkvet_move_away(STDIN_FILENO, nothing, "r");
    session.answers = qkvet_move_away(STDOUT_FILENO, STDERR_FILENO, "w");
    if (nothing >= 0) (void)close(nothing);
    if (session.requests == NULL || session.answers == NULL || program->attention == NULL) {
        (void)fputs("qkvet_harness.h: expected standard streams and a function\n", stderr);
        return 2;
    }
    if (getenv("QKVET_WIRE") == NULL) {
        (void)fputs("This program answers qkvet; start it with: qkvet check exec:PROGRAM\n", stderr);
    }
    do {
        length = getline(&line, &room, session.requests);
    } while (length > 0 && qkvet_answer(&session, line, (size_t)length));
    free(line);
    free(session.scratch);
    free(session.reader.values);
    (void)fclose(session.requests);
    (void)fclose(session.answers);
    return 0;
}

#endif
