"""Reads the parameters from a rank's state as CHECKPOINTS.md describes it."""
import struct

import numpy

import read_model


def _vectors(data):
    magic, version, order, header_bytes, file_bytes = struct.unpack_from("<8sIIQQ", data)
    assert (magic, order, file_bytes) == (b"EAVESTAT", 0x01020304, len(data)) and version >= 2
    place = 32 + struct.calcsize("<II16x") + struct.calcsize("<qqddq24x64x8x")
    length, = struct.unpack_from("<I", data, place)
    place += 4 + length
    count, = struct.unpack_from("<I", data, place)
    place, sizes = place + 4, []
    for _ in range(count):
        length, = struct.unpack_from("<I", data, place)
        name = data[place + 4:place + 4 + length].decode("ascii")
        size, = struct.unpack_from("<Q", data, place + 4 + length)
        sizes.append((name, size))
        place += 4 + length + 24
    place, vectors = header_bytes, {}
    for name, size in sizes:
        vectors[name] = numpy.frombuffer(data, numpy.float32, size, place)
        place += 4 * size
    return vectors


def named_arrays(state, model):
    """Returns the bytes of each array. Names and shapes come from the model's file. Tensors begin at multiples of 16
    values."""
    parameters, place, arrays = _vectors(state.read_bytes())["parameters"], 0, {}
    shapes = {name: array.shape for name, array in read_model.read_model(model)[1].items()}
    for name in ("dense1.weight", "dense1.bias"):
        size = int(numpy.prod(shapes[name]))
        arrays[name] = parameters[place:place + size].tobytes()
        place += -(-size // 16) * 16
    return arrays
