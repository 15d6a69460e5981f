# A multi-head layer, called as attention: with inputs and weights that give its heads the query, key and value of the call.
# Every weight is 0 or 1, one 1 in a column, so that a projection copies and rounds nothing.

LAYER = ("x_q", "x_kv", "w_q", "w_k", "w_v", "w_o", "heads")
# By how many columns a projection turns those of each head: a projection that is transposed turns them back instead.
TURNED_BY = {"w_q": 1, "w_k": 2, "w_v": 1, "w_o": 2}


class Layer:
    """`layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads)` of `(b, n, width)` inputs, with `y = x @ w` for every projection."""

    def __init__(self, function, library):
        self.function, self.library = function, library
        self.inputs_unchanged = True

    def __call__(self, query, key, value, **named):
        (b, heads, n_q, d_k), (n_k, d_v) = map(int, query.shape), map(int, value.shape[2:])
        if tuple(key.shape) != (b, heads, n_k, d_k) or tuple(value.shape[:2]) != (b, heads):
            raise NotImplementedError("a layer has as many key/value heads as query heads, of its own widths")
        merged = lambda x, turn: self.library.swap(self.library.turn(x, turn)).reshape(b, x.shape[2], -1)
        key_value = [merged(key, -TURNED_BY["w_k"]), merged(value, -TURNED_BY["w_v"])]
        width = heads * (d_k + d_v)
        inputs = [
            merged(query, -TURNED_BY["w_q"]),
            self.library.join(key_value),
            self.weight(query, "w_q", heads, d_k, heads * d_k, 0),
            self.weight(query, "w_k", heads, d_k, width, 0),
            self.weight(query, "w_v", heads, d_v, width, heads * d_k),
            self.weight(query, "w_o", heads, d_v, heads * d_v, 0),
        ]
        before = [read(x, False) for x in inputs]
        result = self.function(*inputs, heads, **named)
        self.inputs_unchanged = before == [read(x, False) for x in inputs]
        first, *rest = result if isinstance(result, (tuple, list)) else [result]
        form = shape_of(first)
        if form is None or form[1] != [b, n_q, heads * d_v]:
            got = type(first).__name__ if form is None else form[1]
            raise Malformed("output: expected the shape %s of a layer, got %s" % ([b, n_q, heads * d_v], got))
        # A format that is not the input's stays what it is, to be judged.
        output = self.library.swap(first.reshape(b, n_q, heads, d_v))
        return (self.library.turn(output, -TURNED_BY["w_o"]), *rest)

    def weight(self, like, name, heads, d, rows, first):
        """`(rows, heads · d)`: row `first + h · d + c` has its 1 in the column that `c` is turned to."""
        dtype = shape_of(like)[0]
        size, one = SIZES[dtype], ONE[dtype]
        raw = bytearray(rows * heads * d * size)
        for h in range(heads):
            for c in range(d):
                at = (first + h * d + c) * heads * d + h * d + (c + TURNED_BY[name]) % d
                raw[at * size : (at + 1) * size] = one
        return self.library.make(dtype, [rows, heads * d], bytes(raw))
