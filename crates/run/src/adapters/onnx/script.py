def start():
    global graph
    graph = Graph(File, {"model": FILE, "device": DEVICE})


def ask(call):
    """One call, exactly as qkvet made it: the inputs of the model are those of the call, as the model takes them."""
    feeds = [
        {"name": name, "dtype": dtype, "shape": list(shape), "data": data}
        for name, (dtype, shape, data) in call["options"].items()
    ]
    outputs = [{"role": role, "name": name} for role, name in OUTPUTS.items() if role in call["want"]]
    outputs[0].update(heads=call["query"][1][1] if SIDE_BY_SIDE else None, swap=SWAPPED)
    return received(limited(graph.call, {"feeds": feeds, "outputs": outputs}))
