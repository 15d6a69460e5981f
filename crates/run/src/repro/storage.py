SIZES = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "int32": "i"}


def storage(dtype, data):
    """Storage bits of numbers that are exact in the format; base64 holds them already."""
    if isinstance(data, str):
        return base64.b64decode(data)
    if dtype == "bool":
        return bytes(data)
    if dtype == "bfloat16":  # the upper half of float32
        return b"".join(struct.pack("<f", x)[2:] for x in data)
    return struct.pack("<%d%s" % (len(data), SIZES[dtype]), *data)


def decoded(dtype, raw):
    if dtype == "bfloat16":
        return [struct.unpack("<f", b"\0\0" + raw[at : at + 2])[0] for at in range(0, len(raw), 2)]
    size = struct.calcsize("<" + SIZES[dtype])
    return list(struct.unpack("<%d%s" % (len(raw) // size, SIZES[dtype]), raw))


