/* Attention in C, right for float64, float32, bfloat16 and float16 and for every option, and how to let qkvet check it.
 *
 *     cc -std=c99 -O2 -o attention attention.c -lm
 *     qkvet check exec:./attention
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "qkvet_harness.h"

/* weights[j] of one query, and 0 for all if it sees no key; returns the log-sum-exp. */
static double row(const qkvet_call *call, size_t b, size_t h, size_t i, double *weights) {
    const qkvet_reach keys = qkvet_reach_of(call, b, i);
    size_t group = b * call->h_k + h / (call->h_q / call->h_k), j, t;
    double sink = call->sinks.data != NULL ? qkvet_get(&call->sinks, h) : -INFINITY;
    double largest = sink, sum;
    for (j = 0; j < call->n_k; j++) {
        const size_t q = ((b * call->h_q + h) * call->n_q + i) * call->d_k, k = (group * call->n_k + j) * call->d_k;
        int hidden = (int64_t)j < keys.first || (int64_t)j >= keys.end;
        double score = 0;
        for (t = 0; t < call->d_k; t++) score += qkvet_get(&call->query, q + t) * qkvet_get(&call->key, k + t);
        score *= call->scale;
        if (call->softcap > 0) score = call->softcap * tanh(score / call->softcap);
        if (call->bias.data != NULL) score += qkvet_get_at(&call->bias, b, h, i, j);
        if (call->alibi_slopes.data != NULL) {
            score -= qkvet_get(&call->alibi_slopes, h) * fabs((double)(keys.position - (int64_t)j));
        }
        if (call->mask.data != NULL && qkvet_get_at(&call->mask, b, h, i, j) == 0) hidden = 1;
        weights[j] = hidden ? -INFINITY : score;
        if (weights[j] > largest) largest = weights[j];
    }
    sum = sink == -INFINITY ? 0 : exp(sink - largest); /* a sink has a term in the sum and no value */
    for (j = 0; j < call->n_k; j++) {
        weights[j] = weights[j] == -INFINITY ? 0 : exp(weights[j] - largest);
        sum += weights[j];
    }
    for (j = 0; sum > 0 && j < call->n_k; j++) weights[j] /= sum;
    return sum > 0 ? largest + log(sum) : -INFINITY;
}

static int attention(const qkvet_call *call, qkvet_output *out) {
    double *weights = (double *)malloc((call->n_k + 1) * sizeof *weights);
    size_t b, h, i, j, c;
    if (weights == NULL) return qkvet_because(out, QKVET_ERROR, "no memory for a row of %zu weights", call->n_k);
    for (b = 0; b < call->b; b++) {
        for (h = 0; h < call->h_q; h++) {
            const size_t group = b * call->h_k + h / (call->h_q / call->h_k);
            for (i = 0; i < call->n_q; i++) {
                const size_t at = (b * call->h_q + h) * call->n_q + i;
                const double lse = row(call, b, h, i, weights);
                if (out->lse.data != NULL) qkvet_set(&out->lse, at, lse);
                for (j = 0; out->weights.data != NULL && j < call->n_k; j++) {
                    qkvet_set(&out->weights, at * call->n_k + j, weights[j]);
                }
                for (c = 0; c < call->d_v; c++) {
                    double sum = 0;
                    for (j = 0; j < call->n_k; j++) {
                        sum += weights[j] * qkvet_get(&call->value, (group * call->n_k + j) * call->d_v + c);
                    }
                    qkvet_set(&out->output, at * call->d_v + c, sum);
                }
            }
        }
    }
    free(weights);
    return QKVET_OK;
}

int main(void) {
    qkvet_program program = {"example-c", "1", "cpu", "float64 float32 bfloat16 float16",
                             "scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed",
                             "output weights lse", attention};
    return qkvet_main(&program);
}
