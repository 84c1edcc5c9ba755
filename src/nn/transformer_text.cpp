// Writes the text of a transformer.
#include <cmath>
#include <cstdint>

#include "base/options/number_text.h"
#include "nn/transformer_form.h"

namespace eave {
namespace {

// The values of layers whose text names none.
constexpr float kUsualEpsilon = 1e-5f;
constexpr double kUsualDeviation = 0.02;  // of embeddings

std::string rate_text(float rate) { return " dropout " + exact_text(rate); }

// Writes the layers of one form.
class FormWriter {
 public:
  FormWriter(const TransformerForm& form, const InitialDeviations& weights) : form_(form), weights_(weights) {}

  std::string embedding() const {
    const std::string table = "embedding " + std::to_string(form_.width);
    const std::string deviation = weights_.usual == kUsualDeviation ? "" : " deviation " + number_text(weights_.usual);
    return table + (form_.is_llama ? "" : " positions " + std::to_string(form_.positions)) + deviation +
           dropout(form_.embedding_dropout) + "; ";
  }
  std::string attention() const {
    const std::string groups = form_.groups == form_.heads ? "" : " groups " + std::to_string(form_.groups);
    const std::string heads = std::to_string(form_.heads) + groups;
    return "residual(" + norm() +
           linear((form_.heads + std::int64_t{2} * form_.groups) * form_.head_width, form_.biases.rows) +
           (form_.is_llama ? "rotary " + heads + angles() + "; " : "") + "attention " + heads +
           (form_.attention_dropout > 0 ? rate_text(form_.attention_dropout) : "") + "; " +
           branch_end(form_.biases.mixed) + ")";
  }
  std::string dense() const {
    const std::string activation = form_.is_llama ? "gated silu" : form_.is_approximate ? "gelu_tanh" : "gelu";
    return "residual(" + norm() +
           linear(form_.is_llama ? std::int64_t{2} * form_.inner : form_.inner, form_.biases.dense) + activation +
           "; " + branch_end(form_.biases.dense) + ")";
  }
  std::string output() const {
    return norm() + (form_.is_tied ? "tied_output" : "linear classes no_bias deviation " + number_text(weights_.usual));
  }

 private:
  std::string norm() const {
    const std::string name = form_.is_llama ? "rms_norm" : form_.norm_has_bias ? "layer_norm" : "layer_norm no_bias";
    return name + (form_.epsilon == kUsualEpsilon ? "" : " epsilon " + exact_text(form_.epsilon)) + "; ";
  }
  // A count that is too large for the layer is refused by the layer, so it must not wrap around here.
  static std::string linear_layer(std::int64_t outputs, bool has_bias, double deviation) {
    return "linear " + std::to_string(outputs) + (has_bias ? "" : " no_bias") + " deviation " + number_text(deviation);
  }
  std::string linear(std::int64_t outputs, bool has_bias) const {
    return linear_layer(outputs, has_bias, weights_.usual) + "; ";
  }
  std::string branch_end(bool has_bias) const {
    return linear_layer(form_.width, has_bias, weights_.branch) + dropout(form_.branch_dropout);
  }
  std::string angles() const {
    const RotaryAngles& angles = form_.angles;
    std::string text = angles.base == RotaryAngles().base ? "" : " base " + exact_text(angles.base);
    if (angles.is_stretched()) text += " stretch " + exact_text(angles.stretch);
    if (angles.trained > 0)
      text += " low " + exact_text(angles.low) + " high " + exact_text(angles.high) + " trained " +
              exact_text(angles.trained);
    return text;
  }
  static std::string dropout(float rate) { return rate > 0 ? ";" + rate_text(rate) : ""; }

  const TransformerForm& form_;
  const InitialDeviations& weights_;
};

}  // namespace

double scaled_branch_deviation(double usual, int layers) { return usual / std::sqrt(2.0 * layers); }

std::string model_text(const TransformerForm& form, const InitialDeviations& weights) {
  const FormWriter writer(form, weights);
  const std::string block = writer.attention() + "; " + writer.dense();
  return writer.embedding() + "repeat " + std::to_string(form.layers) + " (" + block + "); " + writer.output();
}

}  // namespace eave
