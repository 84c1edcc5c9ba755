// The text of a model: layers separated by ';', arguments by spaces, blocks in parentheses:
//     conv2d 16 3x3 pad 1; relu; residual(conv2d 16 3x3 pad 1; batch_norm); dense classes
// A block's shortcut may have layers of its own, after a '|':
//     residual(conv2d 32 3x3 pad 1; batch_norm | conv2d 32 1x1)
// Layers that come several times may be written once:
//     repeat 3 (conv2d 16 3x3 pad 1; relu)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eave/batch.h"

namespace eave {

// One layer as the text has it.
struct LayerText {
  std::string word;
  std::vector<std::string> arguments;
  std::vector<LayerText> body;      // layers in parentheses, up to a '|'
  std::vector<LayerText> shortcut;  // layers after the '|'
  bool has_body = false, has_shortcut = false;
  int number = 0;            // position in the whole text from 1, as messages give it
  std::string text() const;  // "conv2d 32 5x5"
};

// Returns the layers; those under "repeat" occur as often as its count says. Throws Error(kUsage) if the text has no
// layers, too many, an unknown one (the message lists the known ones), unbalanced parentheses, or a "repeat" without a
// count or parentheses.
std::vector<LayerText> parse_specification(const std::string& text);

// Throws Error(kUsage): "model layer 3 "conv2d 32 5": <what>. Usage: <usage of the layer>".
[[noreturn]] void fail_layer(const LayerText& layer, const std::string& what);
// The same with kConfiguration: the text can be read, but the layer does not fit what comes before it.
[[noreturn]] void fail_fit(const LayerText& layer, const std::string& what);

// Whether the model is made for text: it begins with an embedding.
bool model_reads_tokens(const std::string& name_or_text);
// The most tokens of a window that a model of text takes. 0: its text has no such limit, or it is no model of text.
int model_context(const std::string& name_or_text);

std::string to_string(ImageShape shape);  // "28×28×1"

// Reads a layer's arguments in order. Every error names the layer, the argument and the usage.
class ArgumentReader {
 public:
  explicit ArgumentReader(const LayerText& layer) : layer_(layer) {}

  bool has_next() const { return next_ < layer_.arguments.size(); }
  // If `word` is next, skips it and returns true.
  bool take_word(std::string_view word);
  void require_word(std::string_view word);  // throws if it is not next
  int take_count(std::string_view name, int least, int most);
  float take_fraction(std::string_view name);  // in [0, 1)
  float take_number(std::string_view name, float least, float most);
  struct Size {
    int height, width;
  };
  Size take_size(std::string_view name);  // "5x3", or "5" for "5x5"
  void finish() const;                    // throws if an argument is left

 private:
  const std::string& take(std::string_view name);
  const LayerText& layer_;
  std::size_t next_ = 0;
};

}  // namespace eave
