"""Computes loss and accuracy of "flatten; dense classes" with NumPy in float64. The loss depends on all pixels that
eave has read."""
import json

import numpy

TOLERANCE = 2e-4  # relative to the loss, for float32 sums over some thousand pixels


def parameters(rng, pixels, classes):
    """Draws small weights. So losses stay near log(classes), and each pixel changes them."""
    draw = numpy.random.default_rng(rng.getrandbits(32))
    return {"dense1.weight": draw.normal(0, 0.3 / numpy.sqrt(pixels), (pixels, classes)).astype(numpy.float32),
            "dense1.bias": draw.normal(0, 0.1, classes).astype(numpy.float32)}


def write_model(path, arrays, image, classes, model="flatten; dense classes", layout="eave"):
    """Writes a model file as FORMATS.md describes it."""
    metadata = {"model": model, "image": "x".join(map(str, image)), "classes": str(classes), "format": layout, "layout": "by hand"}
    header, content = {"__metadata__": metadata}, b""
    for name, array in arrays.items():
        data = numpy.ascontiguousarray(array, numpy.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


def score(images, labels, arrays, mean, deviation):
    """Returns mean loss and accuracy of uint8 images in NHWC or NHW order."""
    loss, right = 0.0, 0
    weight, bias = arrays["dense1.weight"].astype(numpy.float64), arrays["dense1.bias"].astype(numpy.float64)
    for first in range(0, len(images), 2000):
        some, truth = images[first:first + 2000], labels[first:first + 2000].astype(int)
        inputs = (some.astype(numpy.float64) / 255 - mean) / deviation
        outputs = inputs.reshape(len(some), -1) @ weight + bias
        largest = outputs.max(axis=1, keepdims=True)
        logarithms = outputs - largest - numpy.log(numpy.exp(outputs - largest).sum(axis=1, keepdims=True))
        loss -= logarithms[numpy.arange(len(some)), truth].sum()
        right += int((outputs.argmax(axis=1) == truth).sum())
    return loss / len(images), right / len(images)
