"""Models of transformers and of eave have the same logits, in both directions: language_models_job.py FOLDER BUILD.

Random models of GPT-2, Llama, Mistral and Qwen2 are saved by save_pretrained and read by eave. What eave exports,
from_pretrained reads.
"""
import json
import pathlib
import subprocess
import sys

import torch
import transformers

transformers.utils.logging.disable_progress_bar()

TOLERANCE = 1e-4  # relative to the largest logit
BLOCK = ("residual(layer_norm; linear 144; attention 4; linear 48); "
         "residual(layer_norm; linear 192; gelu_tanh; linear 48); ")
GPT2 = "embedding 48 positions 40; " + 3 * BLOCK + "layer_norm; "


def gpt2(**more):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=101, n_positions=40, n_embd=48, n_layer=3, n_head=4, bos_token_id=None, eos_token_id=None, **more))


def with_layers_of_llama(kind, more):
    config = getattr(transformers, f"{kind}Config")(
        **{"num_key_value_heads": 4, **more}, vocab_size=70, hidden_size=64, intermediate_size=172, num_hidden_layers=2,
        num_attention_heads=8, max_position_embeddings=64, bos_token_id=None, eos_token_id=None)
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def llama(**more):
    return with_layers_of_llama("Llama", more)


def mistral(**more):
    return with_layers_of_llama("Mistral", more)


def qwen2(**more):
    return with_layers_of_llama("Qwen2", more)


# With 16 positions, heads of 8 numbers have pairs of all three kinds: 2.5, 0.8, 0.25 and 0.08 turns.
LLAMA3 = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 0.2, "high_freq_factor": 1.0,
          "original_max_position_embeddings": 16}
CASES = {
    "gpt2": (gpt2, {}, 33, "float32"),
    "gpt2, gelu, own output": (gpt2, {"activation_function": "gelu", "tie_word_embeddings": False}, 40, "float32"),
    "gpt2, float16, narrow": (gpt2, {"n_inner": 100, "layer_norm_epsilon": 1e-3}, 17, "float16"),
    "gpt2, gelu_accurate": (gpt2, {"activation_function": "gelu_accurate"}, 33, "float32"),
    "gpt2, gelu_python_tanh": (gpt2, {"activation_function": "gelu_python_tanh"}, 33, "float32"),
    "llama": (llama, {"tie_word_embeddings": True, "rms_norm_eps": 1e-5}, 45, "float32"),
    "llama, swish, own output, bfloat16": (llama, {"hidden_act": "swish"}, 64, "bfloat16"),
    "llama, wide heads, other base": (llama, {"head_dim": 12, "num_key_value_heads": 8, "rope_theta": 500000.0}, 50,
                                      "float32"),
    "llama, stretched as 3.1": (llama, {"rope_parameters": LLAMA3}, 64, "float32"),
    "llama, stretched": (llama, {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}}, 64, "float32"),
    "llama, biases": (llama, {"attention_bias": True, "mlp_bias": True}, 64, "float32"),
    "llama, biases of attention": (llama, {"attention_bias": True, "num_key_value_heads": 8}, 64, "float32"),
    "mistral": (mistral, {"sliding_window": None}, 64, "float32"),
    "mistral, a window for all": (mistral, {"sliding_window": 64}, 64, "float32"),
    "qwen2": (qwen2, {}, 64, "float32"),
    "qwen2, tied, bfloat16": (qwen2, {"tie_word_embeddings": True, "num_key_value_heads": 2}, 40, "bfloat16"),
}
SAMPLES = 3


def randomise(model):
    """Also biases and norms, which begin at 0 and 1."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1 if parameter.dim() == 1 else 0, 0.3 if parameter.dim() == 1 else 0.08)


def read_floats(path, *shape):
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32).reshape(shape)


def differs(what, found, expected):
    error = ((found - expected).abs().max() / expected.abs().max()).item()
    print(f"  {what}: relative error of logits {error:.1e}")
    return not error <= TOLERANCE


def logits_of(model, tokens):
    with torch.no_grad():
        return model.float().eval()(input_ids=tokens.long()).logits


def writes_other_tokens(name, theirs, folder, build):
    """Whether eave generate, given the folder alone, does not choose the tokens that transformers chooses."""
    prompt = [1, 2, 3, 4]
    expected = theirs.generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=False)[0].tolist()
    found = subprocess.run([build / "eave", "generate", folder / "theirs", "--temperature", "0", "--tokens", "12",
                            "--prompt-tokens", ",".join(map(str, prompt))], check=True, timeout=100, stdout=subprocess.PIPE)
    print(f"  {name}, written by eave: {found.stdout.decode().strip()}")
    return list(map(int, found.stdout.split(b","))) != expected


def try_case(name, folder, build):
    make, settings, context, kind = CASES[name]
    model = make(**settings)
    randomise(model)
    model.to(getattr(torch, kind)).save_pretrained(folder / "theirs")
    tokens = torch.randint(model.config.vocab_size, (SAMPLES, context), dtype=torch.int32)
    (folder / "tokens").write_bytes(bytes(tokens.flatten().view(torch.uint8).tolist()))
    (folder / "ours").mkdir()
    subprocess.run([build / "model_logits", folder / "theirs", str(context), str(model.config.vocab_size),
                    folder / "theirs", folder / "tokens", folder / "ours"], check=True, timeout=100)
    shape = (SAMPLES, context, model.config.vocab_size)
    # Not of `model`: its rotary frequencies would be rounded too.
    theirs = type(model).from_pretrained(folder / "theirs", dtype=torch.float32)
    expected = logits_of(theirs, tokens)
    wrong = differs(f"{name}, read by eave", read_floats(folder / "ours/logits", *shape), expected)
    wrong |= differs(f"{name}, grown by eave", read_floats(folder / "ours/grown", *shape), expected)
    wrong |= writes_other_tokens(name, theirs, folder, build)
    subprocess.run([build / "eave", "export", folder / "ours/model.safetensors", "--layout", "huggingface",
                    "--safetensors", folder / "back/model.safetensors"], check=True, timeout=100, stdout=subprocess.DEVNULL)
    back, report = transformers.AutoModelForCausalLM.from_pretrained(folder / "back", output_loading_info=True)
    if any(report[each] for each in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        print(f"  {name}: {report}")
        wrong = True
    return wrong | differs(f"{name}, read from eave", logits_of(back, tokens), expected)


def try_without_biases(folder, build):
    """A model of nanoGPT's kind gets biases of 0 in GPT-2's form, and comes back without them."""
    text = (GPT2 + "tied_output").replace("gelu_tanh", "gelu").replace("layer_norm;", "layer_norm no_bias;")
    for outputs in ("144", "48", "192"):
        text = text.replace(f"linear {outputs}", f"linear {outputs} no_bias")
    model = gpt2(activation_function="gelu")
    randomise(model)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith("bias"):
                parameter.zero_()
    model.save_pretrained(folder / "theirs")
    tokens = torch.randint(101, (SAMPLES, 40), dtype=torch.int32)
    (folder / "tokens").write_bytes(bytes(tokens.flatten().view(torch.uint8).tolist()))
    (folder / "ours").mkdir()
    subprocess.run([build / "model_logits", text, "40", "101", folder / "theirs", folder / "tokens", folder / "ours"],
                   check=True, timeout=100)
    expected = logits_of(model, tokens)
    wrong = differs("without biases, read by eave", read_floats(folder / "ours/logits", *expected.shape), expected)
    subprocess.run([build / "eave", "export", folder / "ours/model.safetensors", "--layout", "huggingface",
                    "--safetensors", folder / "back/model.safetensors"], check=True, timeout=100, stdout=subprocess.DEVNULL)
    back = transformers.GPT2LMHeadModel.from_pretrained(folder / "back")
    if back.config.activation_function != "gelu" or json.loads((folder / "back/config.json").read_text())["n_inner"] != 192:
        wrong = True
    return wrong | differs("without biases, read from eave", logits_of(back, tokens), expected)


def main():
    torch.set_num_threads(1)
    folder, build = map(pathlib.Path, sys.argv[1:])
    wrong = False
    for number, name in enumerate(CASES):
        (folder / str(number)).mkdir()
        wrong |= try_case(name, folder / str(number), build)
    (folder / "plain").mkdir()
    sys.exit(wrong | try_without_biases(folder / "plain", build))


if __name__ == "__main__":
    main()
