#include "nn/specification.h"

#include <algorithm>
#include <iterator>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/options.h"
#include "nn/layer.h"

namespace eave {
namespace {

constexpr int kDeepest = 32;         // nested blocks; deeper text is taken for a mistake
constexpr int kMostLayers = 20'000;  // of a text, so that a mistyped count of "repeat" does not fill memory
constexpr const char* kRepeat = "repeat";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_layer(char c) { return c == ';' || c == ')' || c == '|'; }

// Reads all of `text` as a number in [least, most]. False if it is none.
bool read_count(std::string_view text, int least, int most, int& value) {
  value = parse_number<int>(text).value_or(least - 1);
  return value >= least && value <= most;
}

[[noreturn]] void fail_text(const std::string& what) {
  throw Error(ExitCode::kUsage,
              "model text: " + what + ". Example: \"conv2d 32 5x5; relu; max_pool 2; dense classes\"");
}

// `first`, then one line for each known layer.
std::vector<std::string> with_layers(const std::string& first) {
  std::vector<std::string> lines = {first};
  for (const LayerKind& kind : layer_kinds()) lines.push_back("  " + kind.usage);
  return lines;
}

[[noreturn]] void fail_unknown(const LayerText& layer) {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_kinds()) names.push_back(kind.name);
  const std::string nearest = nearest_word(layer.word, names);
  throw LinesError(
      ExitCode::kUsage,
      with_layers("model layer " + std::to_string(layer.number) + ": there is no layer \"" + layer.word + "\"" +
                  (nearest.empty() ? "." : "; did you mean \"" + nearest + "\"?") + " Layers are:"));
}

[[noreturn]] void fail_many() { fail_text("more than " + std::to_string(kMostLayers) + " layers"); }

void add_to_numbers(std::vector<LayerText>& layers, int summand) {
  for (LayerText& layer : layers) {
    layer.number += summand;
    add_to_numbers(layer.body, summand);
    add_to_numbers(layer.shortcut, summand);
  }
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::vector<LayerText> parse() {
    std::vector<LayerText> layers = parse_block(0);
    if (at_ < text_.size() && text_[at_] == '|') {
      fail_text("a '|' outside of parentheses at character " + std::to_string(at_ + 1));
    }
    if (at_ < text_.size()) fail_text("a ')' too many at character " + std::to_string(at_ + 1));
    if (layers.empty()) fail_text("no layers");
    return layers;
  }

 private:
  // Parses up to the end of the text, or up to a ')' or '|', which it leaves in place.
  std::vector<LayerText> parse_block(int depth) {
    if (depth > kDeepest) fail_text("blocks nested deeper than " + std::to_string(kDeepest));
    std::vector<LayerText> layers;
    for (;;) {
      skip_spaces();
      if (at_ == text_.size() || text_[at_] == ')' || text_[at_] == '|') return layers;
      if (text_[at_] == ';') {
        ++at_;
        continue;
      }
      if (skip_word(kRepeat)) {
        repeat_layers(layers, depth);
      } else {
        layers.push_back(parse_layer(depth));
      }
    }
  }

  // "repeat 12 (a; b)": each of the 24 layers has a number of its own.
  void repeat_layers(std::vector<LayerText>& layers, int depth) {
    skip_spaces();
    const std::string count = take_word();
    int times = 0;
    if (!read_count(count, 1, kMostLayers, times))
      fail_text("\"repeat\" is followed by a whole number from 1 to " + std::to_string(kMostLayers) + ", not by \"" +
                count + "\"");
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != '(') fail_text("a '(' is missing after \"repeat " + count + "\"");
    ++at_;
    const int before = number_;
    std::vector<LayerText> block = parse_block(depth + 1);
    if (block.empty()) fail_text("no layers in the parentheses of \"repeat " + count + "\"");
    const int in_block = number_ - before;
    if (in_block > (kMostLayers - before) / times) fail_many();
    number_ = before + times * in_block;
    for (int time = 1; time < times; ++time) {
      std::ranges::copy(block, std::back_inserter(layers));
      add_to_numbers(block, in_block);
    }
    std::ranges::move(block, std::back_inserter(layers));
    if (at_ < text_.size() && text_[at_] == '|') fail_text("a '|' in the parentheses of \"repeat " + count + "\"");
    if (at_ == text_.size()) fail_text("the ')' of \"repeat " + count + "(\" is missing");
    ++at_;
    skip_spaces();
    if (at_ < text_.size() && !ends_layer(text_[at_])) fail_text("a ';' is missing after \"repeat " + count + "(…)\"");
  }

  LayerText parse_layer(int depth) {
    LayerText layer;
    layer.number = ++number_;
    if (number_ > kMostLayers) fail_many();
    layer.word = take_word();
    if (layer.word.empty()) fail_text("a layer's name is missing at character " + std::to_string(at_ + 1));
    for (skip_spaces(); at_ < text_.size() && !ends_layer(text_[at_]); skip_spaces()) {
      if (text_[at_] == '(') {
        take_body(layer, depth);
        break;
      }
      layer.arguments.push_back(take_word());
    }
    skip_spaces();
    if (at_ < text_.size() && !ends_layer(text_[at_])) {
      fail_text("a ';' is missing after \"" + layer.text() + "\"");
    }
    for (const LayerKind& kind : layer_kinds()) {
      if (kind.name == layer.word) return layer;
    }
    fail_unknown(layer);
  }

  void take_body(LayerText& layer, int depth) {
    ++at_;
    layer.has_body = true;
    layer.body = parse_block(depth + 1);
    if (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      layer.has_shortcut = true;
      layer.shortcut = parse_block(depth + 1);
    }
    if (at_ < text_.size() && text_[at_] == '|')
      fail_text("a second '|' in the parentheses of \"" + layer.word + "(\"");
    if (at_ == text_.size()) fail_text("the ')' of \"" + layer.word + "(\" is missing");
    ++at_;
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  // Skips the word if it is next.
  bool skip_word(std::string_view word) {
    const std::size_t begin = at_;
    if (take_word() == word) return true;
    at_ = begin;
    return false;
  }

  std::string take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '(' && !ends_layer(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int number_ = 0;
};

std::string place(const LayerText& layer) {
  return "model layer " + std::to_string(layer.number) + " \"" + layer.text() + "\": ";
}

std::string usage_of(const std::string& word) {
  for (const LayerKind& kind : layer_kinds()) {
    if (kind.name == word) return kind.usage;
  }
  return word;
}

}  // namespace

std::string LayerText::text() const {
  std::string joined = word;
  for (const std::string& argument : arguments) joined += " " + argument;
  return has_body ? joined + "(…)" : joined;
}

std::vector<LayerText> parse_specification(const std::string& text) { return Parser(text).parse(); }

void fail_layer(const LayerText& layer, const std::string& what) {
  throw Error(ExitCode::kUsage, place(layer) + what + ". Usage: " + usage_of(layer.word));
}

void fail_fit(const LayerText& layer, const std::string& what) {
  throw Error(ExitCode::kConfiguration, place(layer) + what);
}

std::string to_string(ImageShape shape) {
  return std::to_string(shape.height) + "×" + std::to_string(shape.width) + "×" + std::to_string(shape.channels);
}

bool ArgumentReader::take_word(std::string_view word) {
  if (!has_next() || layer_.arguments[next_] != word) return false;
  ++next_;
  return true;
}

const std::string& ArgumentReader::take(std::string_view name) {
  if (!has_next()) fail_layer(layer_, std::string(name) + " is missing");
  return layer_.arguments[next_++];
}

int ArgumentReader::take_count(std::string_view name, int least, int most) {
  const std::string& text = take(name);
  int value = 0;
  if (!read_count(text, least, most, value)) {
    fail_layer(layer_, std::string(name) + " is a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most) + ", not \"" + text + "\"");
  }
  return value;
}

float ArgumentReader::take_fraction(std::string_view name) {
  const std::string& text = take(name);
  const auto value = parse_number<float>(text);
  if (!value || !(*value >= 0 && *value < 1)) {
    fail_layer(layer_, std::string(name) + " is a number from 0 to less than 1, not \"" + text + "\"");
  }
  return *value;
}

void ArgumentReader::require_word(std::string_view word) {
  if (!take_word(word))
    fail_layer(layer_, "expected \"" + std::string(word) + "\"" +
                           (has_next() ? ", not \"" + layer_.arguments[next_] + "\"" : " at its end"));
}

float ArgumentReader::take_number(std::string_view name, float least, float most) {
  const std::string& text = take(name);
  const auto value = parse_number<float>(text);
  if (!value || !(*value >= least && *value <= most)) {  // NaN is in no range
    fail_layer(layer_, std::string(name) + " is a number from " + number_text(least) + " to " + number_text(most) +
                           ", not \"" + text + "\"");
  }
  return *value;
}

ArgumentReader::Size ArgumentReader::take_size(std::string_view name) {
  constexpr int kMost = 255;
  const std::string& text = take(name);
  const std::size_t cross = text.find('x');
  Size size{};
  const bool good = cross == std::string::npos
                        ? read_count(text, 1, kMost, size.height) && read_count(text, 1, kMost, size.width)
                        : read_count(std::string_view(text).substr(0, cross), 1, kMost, size.height) &&
                              read_count(std::string_view(text).substr(cross + 1), 1, kMost, size.width);
  if (!good) fail_layer(layer_, std::string(name) + " is a size such as 5x5, not \"" + text + "\"");
  return size;
}

void ArgumentReader::finish() const {
  if (has_next()) fail_layer(layer_, "\"" + layer_.arguments[next_] + "\" is not understood here");
  if (layer_.has_body) fail_layer(layer_, "it takes no layers in parentheses");
}

}  // namespace eave
