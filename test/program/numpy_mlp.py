"""Computes logits of an mlp by NumPy alone: numpy_mlp.py pytorch|eave DIRECTORY IMAGES HEIGHTxWIDTHxCHANNELS OUTPUT

DIRECTORY holds the files that `eave export --npy` wrote in this layout. IMAGES holds float32 values in NHWC order.
OUTPUT gets the logits as float32 values, sample by sample.
"""
import pathlib
import sys

import numpy


def main(layout, directory, images, shape, output):
    height, width, channels = map(int, shape.split("x"))
    arrays = {path.stem: numpy.load(path) for path in pathlib.Path(directory).glob("*.npy")}
    assert len(arrays) == 6 and all(array.dtype == "<f4" and array.flags.c_contiguous for array in arrays.values())
    x = numpy.fromfile(images, "<f4").reshape(-1, height, width, channels)
    if layout == "pytorch":
        x = x.transpose(0, 3, 1, 2)
    x = x.reshape(len(x), -1).astype("f8")
    for layer in ("dense1", "dense2", "dense3"):
        weight = arrays[f"{layer}.weight"]
        x = x @ (weight.T if layout == "pytorch" else weight) + arrays[f"{layer}.bias"]
        if layer != "dense3":
            x = numpy.maximum(x, 0)
    x.astype("<f4").tofile(output)


main(*sys.argv[1:])
