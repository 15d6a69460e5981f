# Numbers and their storage bits, little-endian, by the standard library alone.

LETTERS = {"float64": "d", "float32": "f", "float16": "e", "bfloat16": "H", "int64": "q", "int32": "i", "bool": "B"}


def encoded(dtype, numbers):
    """The storage bits of numbers that are exact in the format."""
    if dtype == "bfloat16":  # the upper half of float32
        wide, raw = struct.pack("<%df" % len(numbers), *numbers), bytearray(2 * len(numbers))
        raw[0::2], raw[1::2] = wide[2::4], wide[3::4]
        return bytes(raw)
    return struct.pack("<%d%s" % (len(numbers), LETTERS[dtype]), *numbers)


def decoded(dtype, raw):
    """The numbers behind storage bits."""
    if dtype == "bfloat16":
        wide = bytearray(2 * len(raw))
        wide[2::4], wide[3::4] = raw[0::2], raw[1::2]
        dtype, raw = "float32", wide
    letter = LETTERS[dtype]
    return list(struct.unpack("<%d%s" % (len(raw) // struct.calcsize(letter), letter), raw))
