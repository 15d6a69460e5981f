# Options of a function, by the names of its parameters.

# Option of qkvet -> the argument names that it goes by.
OPTIONS = {
    "scale": ("scale", "softmax_scale", "sm_scale"),
    "causal": ("causal", "is_causal"),
    "mask": ("mask", "attn_mask"),
    "bias": ("bias", "attn_bias"),
    "softcap": ("softcap", "logits_soft_cap"),
    "window": ("window", "window_size", "sliding_window"),
    "sinks": ("sinks",),
    "alibi_slopes": ("alibi_slopes",),
    "key_lengths": ("key_lengths", "kv_seqlen", "cache_seqlens", "key_value_seq_lengths"),
    "query_lengths": ("query_lengths", "query_seq_lengths"),
    "query_offsets": ("query_offsets", "cu_seqlens_q"),
    "key_offsets": ("key_offsets", "cu_seqlens_k"),
    "return_weights": ("return_weights", "need_weights"),
    "return_lse": ("return_lse", "return_softmax_lse"),
}
# One option of qkvet, two arguments.
PACKED = ("query_offsets", "key_offsets")


def match_arguments(name, function, supports, mask_takes_bias):
    """Option -> argument name, the options that must always be passed, other parameters."""
    found = parameters(function)
    var_keyword, by_name, required = True, {}, []
    if found is not None:
        shown = "%s(%s)" % (name.split(".")[-1], ", ".join(p.name for p in found))
        places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        wrap = "wrap it: def attention(query, key, value, scale=None, causal=False, mask=None): ..."
        kind = layer_of(function)
        inputs = len(kind[0]) if kind else 3
        if len(places) < inputs and not any(p.kind == p.VAR_POSITIONAL for p in found):
            raise LoadError("signature", "%s cannot take query, key, value by position" % shown, wrap)
        var_keyword = any(p.kind == p.VAR_KEYWORD for p in found)
        rest = places[inputs:] + [p for p in found if p.kind == p.KEYWORD_ONLY]
        biases = kind[1] if kind else ()
        rest = [p for p in rest if p.name not in biases]
        by_name = {p.name: p for p in rest if p.kind != p.POSITIONAL_ONLY}
        required = [p.name for p in rest if p.default is p.empty]

    arguments = {}
    for option, names in OPTIONS.items():
        argument = next((n for n in names if n in by_name), None)
        if argument is not None:
            arguments[option] = argument
    if mask_takes_bias and "bias" not in arguments and "mask" in arguments:
        arguments["bias"] = arguments["mask"]
    always = [option for option, argument in arguments.items() if argument in required]
    for argument in required:
        if argument not in arguments.values():
            layer = {"x_q", "x_kv", "w_q", "w_k", "w_v", "w_qkv", "w_o"} & {p.name for p in found}
            hint = "%s; what else a layer may take is in docs/layers.md" % LAYERS if layer else wrap
            raise LoadError("signature", "%s needs an argument `%s` that is not an option" % (shown, argument), hint)
    if supports is not None:
        arguments = declared(name, supports, arguments, var_keyword, always)
        if mask_takes_bias and "bias" not in arguments and "mask" in arguments:
            arguments["bias"] = arguments["mask"]
    return arguments, always, [name for name in by_name if name not in arguments.values()]


def declared(name, supports, arguments, var_keyword, always):
    """What `supports` lists, under the argument names of the signature or, with **kwargs, under the listed ones."""
    kept = {option: arguments[option] for option in always}
    for word in (word for listed in supports for word in (PACKED if listed == "packed" else (listed,))):
        option = next((o for o, names in OPTIONS.items() if word in names), None)
        if option is None:
            known = list(OPTIONS) + ["packed"]
            message = "supports: unknown option `%s`; known: %s" % (word, ", ".join(known))
            raise LoadError("supports", message, nearest(word, known))
        if option not in arguments and not var_keyword:
            raise LoadError("supports", "supports lists `%s`, but %s has no argument for it" % (word, name))
        kept[option] = arguments.get(option, word)
    return kept
