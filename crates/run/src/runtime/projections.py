# What gives the heads of a multi-head layer any query, key and value: inputs and weights for it.
# Every weight is 0 or 1, one 1 in a column, so that a projection copies; a bias is taken off its
# column of the input first, where that is exact for the whole column. So nothing is rounded, in any
# format. Numbers are Python's own here, those of the format among them.

# By how many columns a projection turns those of each head: one that is transposed turns them back
# instead.
TURNED_BY = {"q": 1, "k": 2, "v": 1, "o": 2}
# The number of a bias, by its column.
BIAS = (1.0, -0.5, 2.0)


def is_exact(dtype, values):
    try:
        return decoded(dtype, encoded(dtype, values)) == values
    except OverflowError:
        return False


def turned(row, by):
    by %= len(row)
    return row[by:] + row[:by]


def side_by_side(x, dims, by):
    """`(b, h, n, d)` as `b · n` rows of `h · d` columns, those of every head turned."""
    b, h, n, d = dims
    starts = [[((item * h + head) * n + i) * d for head in range(h)] for item in range(b) for i in range(n)]
    return [[number for at in row for number in turned(x[at : at + d], by)] for row in starts]


def less_bias(rows, dtype, width, d, by):
    """Rows without the bias of the projection that they meet, and that bias: 0 for a column of which it cannot be taken exactly."""
    rows, bias = [list(row) for row in rows], [0.0] * width
    for at in range(width):
        column, b = [row[at] for row in rows], BIAS[at % 3]
        less = [x - b for x in column]
        # The error of each difference, by Knuth's sum of two numbers. A zero keeps its sign.
        errors = [(x - (s - (s - x))) + (-b - (s - x)) for x, s in zip(column, less)]
        has_minus_zero = any(x == 0 and math.copysign(1, x) < 0 for x in column)
        if not has_minus_zero and not any(errors) and is_exact(dtype, less):
            for row, x in zip(rows, less):
                row[at] = x
            bias[at // d * d + (at % d + by) % d] = b
    return rows, bias


def weight(rows, first, width, d, by):
    """`rows` rows of `width` columns: row `first + h · d + c` has its 1 in the column of head `h` that `c` is turned to."""
    values = [0.0] * (rows * width)
    for at in range(width):
        values[(first + at) * width + at // d * d + (at % d + by) % d] = 1.0
    return values


def beside(matrices, rows):
    """Matrices of as many rows, side by side; each with its number of columns."""
    return [x for r in range(rows) for values, width in matrices for x in values[r * width : (r + 1) * width]]


def projected(kind, dtype, dims, query, key, value, b_o):
    """What the layer is given, `(name, shape, numbers)` in its order but for `heads`, the biases behind; `b_o` is that of the output."""
    form, biases = kind
    (b, h, n_q, d_k), (n_k, d_v) = dims
    rows, bias, width = {}, {}, {"q": h * d_k, "k": h * d_k, "v": h * d_v}
    for name, x, n, d in (("q", query, n_q, d_k), ("k", key, n_k, d_k), ("v", value, n_k, d_v)):
        rows[name] = side_by_side(x, (b, h, n, d), TURNED_BY[name])
        bias[name] = [0.0] * width[name]
        # Where the bias of the output is asked for, no other is beside it.
        if ("b_" + name in biases or "b_qkv" in biases) and not (name == "v" and any(b_o)):
            rows[name], bias[name] = less_bias(rows[name], dtype, width[name], d, TURNED_BY[name])
    x_kv = [k + v for k, v in zip(rows["k"], rows["v"])]
    of_kv, of_head = width["k"] + width["v"], (("q", d_k), ("k", d_k), ("v", d_v))
    if form is JOINED:
        total = width["q"] + of_kv
        first = {"q": 0, "k": width["q"], "v": width["q"] + width["k"]}
        wide = (total, total)
        x_q = [row + [0.0] * of_kv for row in rows["q"]]
        x_kv = [[0.0] * width["q"] + row for row in x_kv]
        each = [(weight(total, first[name], width[name], d, TURNED_BY[name]), width[name]) for name, d in of_head]
        weights = [("w_qkv", (total, total), beside(each, total))]
        given = [("b_qkv", bias["q"] + bias["k"] + bias["v"])]
    else:
        x_q, wide = rows["q"], (width["q"], of_kv)
        first, height = {"q": 0, "k": 0, "v": width["k"]}, {"q": width["q"], "k": of_kv, "v": of_kv}
        weights = [
            ("w_" + name, (height[name], width[name]), weight(height[name], first[name], width[name], d, TURNED_BY[name]))
            for name, d in of_head
        ]
        given = [("b_" + name, bias[name]) for name in "qkv"]
    flat = lambda rows: [x for row in rows for x in row]
    inputs = [("x_q", (b, n_q, wide[0]), flat(x_q)), ("x_kv", (b, n_k, wide[1]), flat(x_kv)), *weights]
    inputs.append(("w_o", (width["v"], width["v"]), weight(width["v"], 0, width["v"], d_v, TURNED_BY["o"])))
    given.append(("b_o", b_o))
    return inputs + [(name, (len(values),), values) for name, values in given if name in biases]


def output_bias(dims):
    """The bias of the output that a layer is asked for on values of 0."""
    (_, h, _, _), (_, d_v) = dims
    return [BIAS[at % 3] for at in range(h * d_v)]


def heads_of(output, dims, size=1):
    """`(b, n_q, h · d_v)` as `(b, h, n_q, d_v)`, columns turned back; elements take `size` places each."""
    (b, h, n_q, _), (_, d_v) = dims
    width, by = d_v * size, TURNED_BY["o"] * size
    at = lambda item, head, i: ((item * n_q + i) * h + head) * width
    starts = [at(item, head, i) for item in range(b) for head in range(h) for i in range(n_q)]
    return [turned(output[start : start + width], by) for start in starts]
