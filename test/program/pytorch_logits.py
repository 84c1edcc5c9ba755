"""Computes logits of models by PyTorch: pytorch_logits.py [MODEL FILE IMAGES OUTPUT]...

MODEL is a model of bench/pytorch_steps.py, used in evaluation mode. FILE comes from `eave export --safetensors`.
IMAGES holds float32 values in NHWC order. OUTPUT gets the logits as float32 values, sample by sample.

pytorch_logits.py --initial [MODEL FILE]... writes each MODEL with PyTorch's own initial parameters into FILE. eave then
begins with them.
"""
import array
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import pytorch_steps  # must come before torch, because it silences warnings
import torch

PREFIXES = {torch.nn.Conv2d: "conv", torch.nn.BatchNorm2d: "bn", torch.nn.Linear: "dense"}


def read_floats(path):
    return torch.frombuffer(bytearray(pathlib.Path(path).read_bytes()), dtype=torch.float32)


def bytes_of(tensor):
    kind = {torch.float32: "f", torch.int64: "q"}[tensor.dtype]
    return array.array(kind, tensor.detach().flatten().tolist()).tobytes()


def read_safetensors(path):
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    assert header.pop("__metadata__")["format"] == "pt"
    values = torch.frombuffer(bytearray(content[8 + length:]), dtype=torch.float32)
    return {name: values[entry["data_offsets"][0] // 4:entry["data_offsets"][1] // 4].reshape(entry["shape"])
            for name, entry in header.items()}


def write_safetensors(path, tensors):
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        values = bytes_of(tensor)
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(content), len(content) + len(values)]}
        content += values
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + content)


def eave_names(model):
    """Maps eave's name of each layer to the model's own. eave numbers layers of a kind from 1, and shortcuts apart."""
    numbers, names = {}, {}
    for name, module in model.named_modules():
        prefix = PREFIXES.get(type(module))
        if prefix:
            prefix = ("shortcut_" if ".shortcut." in name else "") + prefix
            numbers[prefix] = numbers.get(prefix, 0) + 1
            names[f"{prefix}{numbers[prefix]}"] = name
    return names


def write_logits(name, file, images, output):
    maker, (channels, height, width) = pytorch_steps.MODELS[name]
    model = maker().eval()
    names = eave_names(model)
    tensors = {f"{names[key.split('.')[0]]}.{key.split('.')[1]}": value for key, value in read_safetensors(file).items()}
    model.load_state_dict(tensors, strict=True)
    x = read_floats(images).reshape(-1, height, width, channels).permute(0, 3, 1, 2)
    with torch.no_grad():
        pathlib.Path(output).write_bytes(bytes_of(model(x)))


def write_initial(name, file):
    torch.manual_seed(1)
    model = pytorch_steps.MODELS[name][0]()
    names = {own: eave for eave, own in eave_names(model).items()}
    write_safetensors(file, {f"{names[key.rsplit('.', 1)[0]]}.{key.rsplit('.', 1)[1]}": value
                             for key, value in model.state_dict().items()})


def main(words):
    torch.set_num_threads(1)
    action, count = (write_initial, 2) if words[0] == "--initial" else (write_logits, 4)
    words = words[words[0] == "--initial":]
    for i in range(0, len(words), count):
        action(*words[i:i + count])


main(sys.argv[1:])
