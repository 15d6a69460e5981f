/* Attention for `qkvet check exec:./attention`. Put your own into the function below; the header does the protocol.
 *
 *     c++ -O2 -o attention main.cpp
 */
#include "qkvet_harness.h" /* before all other headers */

/* What is here is right and slow. The tensors are row-major without gaps:
 * query (b, h_q, n_q, d_k), key (b, h_k, n_k, d_k), value (b, h_k, n_k, d_v), output (b, h_q, n_q, d_v). */
static int attention(const qkvet_call *call, qkvet_output *out) {
    const float *query = (const float *)call->query.data, *key = (const float *)call->key.data;
    const float *value = (const float *)call->value.data;
    float *output = (float *)out->output.data;
    const size_t n_q = call->n_q, n_k = call->n_k, d_k = call->d_k, d_v = call->d_v;
    size_t row, j, t, c;
    double *weights;
    if (d_k > 1024) return qkvet_because(out, QKVET_UNSUPPORTED, "head width %zu > 1024", d_k);
    weights = (double *)malloc((n_k + 1) * sizeof *weights);
    if (weights == NULL) return qkvet_because(out, QKVET_ERROR, "no memory");
    for (row = 0; row < call->b * call->h_q * n_q; row++) {
        const size_t i = row % n_q, head = row / n_q % call->h_q, item = row / n_q / call->h_q;
        const size_t group = item * call->h_k + head / (call->h_q / call->h_k);
        double largest = -INFINITY, sum = 0;
        for (j = 0; j < n_k; j++) {
            double score = 0;
            for (t = 0; t < d_k; t++) score += (double)query[row * d_k + t] * (double)key[(group * n_k + j) * d_k + t];
            weights[j] = call->causal && j + n_q > i + n_k ? -INFINITY : score * call->scale;
            if (weights[j] > largest) largest = weights[j];
        }
        for (j = 0; j < n_k; j++) {
            weights[j] = weights[j] == -INFINITY ? 0 : exp(weights[j] - largest);
            sum += weights[j];
        }
        for (c = 0; c < d_v; c++) {
            double total = 0;
            for (j = 0; j < n_k; j++) total += weights[j] * (double)value[(group * n_k + j) * d_v + c];
            output[row * d_v + c] = sum > 0 ? (float)(total / sum) : 0; /* a query that sees no key gives 0 */
        }
    }
    free(weights);
    return QKVET_OK;
}

int main(void) {
    qkvet_program program = {};
    program.name = "mine";
    program.dtypes = "float32";       /* what is not listed is not asked for, and counted as declined */
    program.options = "scale causal"; /* more of them: the comments of qkvet_call */
    program.outputs = "output";       /* of: output weights lse */
    program.attention = attention;
    return qkvet_main(&program);
}
