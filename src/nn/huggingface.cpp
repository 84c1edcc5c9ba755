#include "nn/huggingface.h"

#include "eave/check.h"

namespace eave {
namespace {

// Gives the tensors of a graph their names, node after node.
class Namer {
 public:
  Namer(const Graph& graph, bool linear_turned) : linear_turned_(linear_turned) {
    for (const Node& node : graph.nodes) {
      if (!node.name.empty()) nodes_.push_back(&node);
    }
  }

  const Node& take() {
    EAVE_CHECK(next_ < nodes_.size(), "as many layers with parameters as the form says");
    return *nodes_[next_++];
  }
  void finish() const { EAVE_CHECK(next_ == nodes_.size(), "no layer with parameters is left"); }

  // The array as it lies in the arena. `which`: number of the tensor in its layer.
  void add(const Node& node, std::size_t which, const std::string& name) {
    const TensorInfo tensor = node.layer->parameters()[which];
    stored_.push_back({name, tensor.shape, false, node.parameters_at + tensor.offset, tensor.size, {tensor.size}, {1}});
  }
  // A weight [in, out] as [out, in]: `count` of its outputs, from `first` on.
  void add_turned(const Node& node, const std::string& name, std::int64_t first, std::int64_t count) {
    const TensorInfo tensor = node.layer->parameters()[0];
    const std::int64_t inputs = tensor.shape[0], outputs = tensor.shape[1];
    stored_.push_back({name,
                       {count, inputs},
                       false,
                       node.parameters_at + tensor.offset + first,
                       count * inputs,
                       {count, inputs},
                       {1, outputs}});
  }
  // `count` outputs of a linear layer, from `first` on.
  void add_outputs(const Node& node, const std::string& name, std::int64_t first, std::int64_t count) {
    add_turned(node, name + ".weight", first, count);
    const std::vector<TensorInfo> tensors = node.layer->parameters();
    if (tensors.size() < 2) return;
    stored_.push_back(
        {name + ".bias", {count}, false, node.parameters_at + tensors[1].offset + first, count, {count}, {1}});
  }
  void add_linear(const std::string& name) {
    const Node& node = take();
    const std::vector<TensorInfo> tensors = node.layer->parameters();
    if (linear_turned_) {
      add_turned(node, name + ".weight", 0, tensors[0].shape[1]);
    } else {
      add(node, 0, name + ".weight");
    }
    if (tensors.size() > 1) add(node, 1, name + ".bias");
  }
  void add_norm(const std::string& name) {
    const Node& node = take();
    add(node, 0, name + ".weight");
    if (node.layer->parameters().size() > 1) add(node, 1, name + ".bias");
  }
  std::vector<StoredTensor> stored() { return std::move(stored_); }

 private:
  const bool linear_turned_;
  std::vector<const Node*> nodes_;  // those with parameters
  std::size_t next_ = 0;
  std::vector<StoredTensor> stored_;
};

void name_gpt2(Namer& namer, const TransformerForm& form) {
  const Node& embedding = namer.take();
  namer.add(embedding, 0, "transformer.wte.weight");
  namer.add(embedding, 1, "transformer.wpe.weight");
  for (int layer = 0; layer < form.layers; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    namer.add_norm(block + "ln_1");
    namer.add_linear(block + "attn.c_attn");
    namer.add_linear(block + "attn.c_proj");
    namer.add_norm(block + "ln_2");
    namer.add_linear(block + "mlp.c_fc");
    namer.add_linear(block + "mlp.c_proj");
  }
  namer.add_norm("transformer.ln_f");
}

void name_llama(Namer& namer, const TransformerForm& form) {
  namer.add(namer.take(), 0, "model.embed_tokens.weight");
  const std::int64_t queries = std::int64_t{1} * form.heads * form.head_width;
  const std::int64_t keys = std::int64_t{1} * form.groups * form.head_width;
  for (int layer = 0; layer < form.layers; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".";
    namer.add_norm(block + "input_layernorm");
    const Node& rows = namer.take();
    namer.add_outputs(rows, block + "self_attn.q_proj", 0, queries);
    namer.add_outputs(rows, block + "self_attn.k_proj", queries, keys);
    namer.add_outputs(rows, block + "self_attn.v_proj", queries + keys, keys);
    namer.add_outputs(namer.take(), block + "self_attn.o_proj", 0, form.width);
    namer.add_norm(block + "post_attention_layernorm");
    const Node& gated = namer.take();
    namer.add_outputs(gated, block + "mlp.gate_proj", 0, form.inner);
    namer.add_outputs(gated, block + "mlp.up_proj", form.inner, form.inner);
    namer.add_outputs(namer.take(), block + "mlp.down_proj", 0, form.width);
  }
  namer.add_norm("model.norm");
}

}  // namespace

std::vector<StoredTensor> huggingface_tensors(const Graph& graph, const TransformerForm& form, bool linear_turned) {
  Namer namer(graph, linear_turned);
  form.is_llama ? name_llama(namer, form) : name_gpt2(namer, form);
  if (!form.is_tied) {
    const Node& output = namer.take();
    namer.add_turned(output, "lm_head.weight", 0, output.layer->parameters()[0].shape[1]);
  }
  namer.finish();
  return namer.stored();
}

std::vector<std::pair<std::string, std::int64_t>> huggingface_zeros(const TransformerForm& form) {
  std::vector<std::pair<std::string, std::int64_t>> zeros;
  if (form.is_llama) return zeros;
  for (int layer = 0; layer < form.layers; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    if (!form.norm_has_bias) {
      for (const char* norm : {"ln_1", "ln_2"}) zeros.emplace_back(block + norm + ".bias", form.width);
    }
    if (form.biases.rows) continue;
    zeros.emplace_back(block + "attn.c_attn.bias", 3 * std::int64_t{form.width});
    zeros.emplace_back(block + "attn.c_proj.bias", form.width);
    zeros.emplace_back(block + "mlp.c_fc.bias", form.inner);
    zeros.emplace_back(block + "mlp.c_proj.bias", form.width);
  }
  if (!form.norm_has_bias) zeros.emplace_back("transformer.ln_f.bias", form.width);
  return zeros;
}

std::string huggingface_name(const std::string& name) {
  constexpr std::string_view kCompiled = "_orig_mod.";
  if (name.starts_with(kCompiled)) return huggingface_name(name.substr(kCompiled.size()));
  for (const std::string_view begin : {"wte.", "wpe.", "h.", "ln_f."}) {
    if (name.starts_with(begin)) return "transformer." + name;
  }
  for (const std::string_view begin : {"embed_tokens.", "layers.", "norm."}) {
    if (name.starts_with(begin)) return "model." + name;
  }
  return name;
}

bool is_huggingface_buffer(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with(".rotary_emb.inv_freq");
}

bool is_huggingface_table(const std::string& name) {
  const std::string known = huggingface_name(name);
  return known == "transformer.wte.weight" || known == "model.embed_tokens.weight";
}

}  // namespace eave
