# A multi-head layer, called as attention: see projections.py for what it is given.


class Layer:
    """`layer(x_q, x_kv, w_q, w_k, w_v, w_o, heads)` of `(b, n, width)` inputs, with `y = x @ w` for every projection; or with one `w_qkv`;
    with biases if it has parameters for them."""

    def __init__(self, function, kind, library):
        self.function, self.kind, self.library = function, kind, library
        self.inputs_unchanged = True

    def __call__(self, query, key, value, **named):
        (b, heads, n_q, d_k), (n_k, d_v) = map(int, query.shape), map(int, value.shape[2:])
        if tuple(key.shape) != (b, heads, n_k, d_k) or tuple(value.shape[:2]) != (b, heads):
            raise NotImplementedError("a layer has as many key/value heads as query heads, of its own widths")
        dims, self.inputs_unchanged = ((b, heads, n_q, d_k), (n_k, d_v)), True
        dtype = shape_of(query)[0]
        if dtype not in FLOATS:
            raise NotImplementedError("a layer in %s" % dtype)
        q, k, v = (decoded(dtype, read(x, False)) for x in (query, key, value))
        no_bias = [0.0] * (heads * d_v)
        first, rest = self.asked(dtype, dims, projected(self.kind, dtype, dims, q, k, v, no_bias), named)
        if "b_o" in self.kind[1]:
            # Values of 0 leave the bias alone; where a query sees no key there may be NaN.
            bias = output_bias(dims)
            given = projected(self.kind, dtype, dims, q, k, [0.0] * len(v), bias)
            alone, _ = self.asked(dtype, dims, given, named)
            # A format that is not the input's is judged by the first output.
            found = decoded(dtype, read(alone, False)) if shape_of(alone)[0] == dtype else []
            wrong = (at for at, x in enumerate(found) if x == x and x != bias[at % len(bias)])
            for at in wrong:
                seen = (bias[at % len(bias)], at % len(bias), found[at])
                raise Malformed("an output without b_o as it was given: with values of 0, %s in column %d became %s" % seen)
        # A format that is not the input's stays what it is, to be judged.
        name, _ = shape_of(first)
        raw = read(first, False)
        size = max(len(raw) // max(b * n_q * heads * d_v, 1), 1)
        output = self.library.make(name, [b, heads, n_q, d_v], b"".join(heads_of(raw, dims, size)))
        return (output, *rest)

    def asked(self, dtype, dims, given, named):
        """The output of one call, and what came with it."""
        (b, heads, n_q, _), (_, d_v) = dims
        places = len(self.kind[0]) - 1
        arrays = [self.library.make(dtype, list(shape), encoded(dtype, values)) for _, shape, values in given]
        before = [read(x, False) for x in arrays]
        biases = {name: x for (name, _, _), x in zip(given[places:], arrays[places:])}
        result = self.function(*arrays[:places], heads, **biases, **named)
        self.inputs_unchanged &= before == [read(x, False) for x in arrays]
        first, *rest = result if isinstance(result, (tuple, list)) else [result]
        form = shape_of(first)
        if form is None or form[1] != [b, n_q, heads * d_v]:
            got = type(first).__name__ if form is None else form[1]
            raise Malformed("output: expected the shape %s of a layer, got %s" % ([b, n_q, heads * d_v], got))
        return first, rest
