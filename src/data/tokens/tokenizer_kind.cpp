// Which kind a tokenizer.json is of.

#include "data/tokens/vocabulary_json.h"

namespace eave {
namespace {

using nlohmann::json;
using Parts = std::vector<const json*>;

constexpr const char* kSpaceMark = "▁";  // U+2581

bool is_absent(const json& value) {
  return value.is_null() || value == false || (value.is_string() && value.get_ref<const std::string&>().empty());
}

void require_model(const json& model, const std::string& name) {
  const bool has_old_model = model.is_object() && member(model, "type").is_null() && member(model, "merges").is_array();
  if (type_of(model) != "BPE" && !has_old_model) refuse_kind(name, "its model is " + type_of(model));
  for (const char* option : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!is_absent(member(model, option)) && member(model, option) != 0)
      refuse_kind(name, std::string("its model has ") + option);
  }
}

// The text of {"String": text}; "" if it is something else.
std::string text_pattern(const json& part) {
  const json& pattern = member(member(part, "pattern"), "String");
  return pattern.is_string() ? pattern.get<std::string>() : "";
}

RegularCut split_cut(const json& split, const std::string& name) {
  const json &regular = member(member(split, "pattern"), "Regex"), &behavior = member(split, "behavior");
  RegularCut::Rule rule;
  rule.must_match_all = behavior == "Removed";
  if (behavior == "MergedWithPrevious") rule.where = RegularCut::Where::kEnds;
  if (behavior == "MergedWithNext") rule.where = RegularCut::Where::kBegins;
  const bool is_known = behavior == "Isolated" || rule.must_match_all || rule.where != RegularCut::Where::kBothEnds;
  if (!is_known || flag_in(split, "invert", false, name) != rule.must_match_all)
    refuse_kind(name, "its Split has a behavior or invert that eave does not know");
  rule.pattern = regular.is_string() ? regular.get<std::string>() : text_pattern(split);
  rule.is_text = !regular.is_string();
  return {rule, name};
}

// Returns how a part before ByteLevel cuts text.
RegularCut cut_of(const json& part, const std::string& name) {
  if (type_of(part) == "Split") return split_cut(part, name);
  if (type_of(part) == "Digits") {
    RegularCut::Rule rule;
    rule.pattern = flag_in(part, "individual_digits", false, name) ? "\\p{N}" : "\\p{N}+";
    return {rule, name};
  }
  refuse_kind(name, "its pre_tokenizer has " + type_of(part) + " before ByteLevel");
}

void read_bytes_kind(const json& tokenizer, const Parts& parts, const std::string& name, TokenizerText& text) {
  const json &cut = *parts.back(), &model = member(tokenizer, "model");
  if (!is_absent(member(cut, "add_prefix_space")))
    refuse_kind(name, "its pre_tokenizer adds a space (add_prefix_space)");
  text.cuts_as_gpt2 = flag_in(cut, "use_regex", true, name);
  text.takes_whole_words = flag_in(model, "ignore_merges", false, name);
  for (const json* part : parts_of(member(tokenizer, "normalizer"), "normalizers", name)) {
    if (type_of(*part) != "NFC") refuse_kind(name, "its normalizer is " + type_of(*part));
    text.composes = true;
  }
  for (const json* part : Parts(parts.begin(), parts.end() - 1)) text.cuts.push_back(cut_of(*part, name));
  const bool is_gpt2 = text.cuts_as_gpt2 && !text.takes_whole_words && member(tokenizer, "normalizer").is_null() &&
                       type_of(member(tokenizer, "pre_tokenizer")) == "ByteLevel" &&
                       is_absent(member(model, "byte_fallback"));
  text.kind = is_gpt2 ? TokenizerText::Kind::kGpt2 : TokenizerText::Kind::kBytes;
}

void read_metaspace(const json& part, const std::string& name, TokenizerText& text) {
  const json& scheme = member(part, "prepend_scheme");
  if (member(part, "replacement") != kSpaceMark)
    refuse_kind(name, "its Metaspace replaces spaces by something other than U+2581");
  const bool adds = flag_in(part, "add_prefix_space", true, name) && scheme != "never";
  if (!scheme.is_null() && scheme != "always" && scheme != "first" && scheme != "never")
    refuse_kind(name, "its Metaspace has a prepend_scheme that eave does not know");
  if (adds) {
    text.first_space = scheme == "first" ? TokenizerText::FirstSpace::kIfThereIsNoneAtBegin
                                         : TokenizerText::FirstSpace::kIfThereIsNone;
  }
  text.cuts_at_spaces = flag_in(part, "split", true, name);
}

// Whether spaces become U+2581.
bool read_marks(const json& normalizer, const std::string& name, TokenizerText& text) {
  bool replaces = false;
  for (const json* part : parts_of(normalizer, "normalizers", name)) {
    if (type_of(*part) == "Prepend" && member(*part, "prepend") == kSpaceMark &&
        text.first_space != TokenizerText::FirstSpace::kAlways) {
      text.first_space = TokenizerText::FirstSpace::kAlways;
    } else if (type_of(*part) == "Replace" && text_pattern(*part) == " " && member(*part, "content") == kSpaceMark) {
      replaces = true;
    } else {
      refuse_kind(name, "its normalizer has " + type_of(*part) + ", which differs from Llama 2's");
    }
  }
  return replaces;
}

void read_characters_kind(const json& tokenizer, const Parts& parts, const std::string& name, TokenizerText& text) {
  const json& model = member(tokenizer, "model");
  text.kind = TokenizerText::Kind::kCharacters;
  const bool replaces = read_marks(member(tokenizer, "normalizer"), name, text);
  const std::string cut = parts.empty() ? "none" : type_of(*parts[0]);
  // No space is left for Gemma's to find.
  const bool finds_nothing =
      parts.empty() || (cut == "Split" && text_pattern(*parts[0]) == " " && !flag_in(*parts[0], "invert", false, name));
  const bool is_metaspace = cut == "Metaspace" && member(tokenizer, "normalizer").is_null();
  if (parts.size() > 1 || !(is_metaspace || (replaces && finds_nothing)))
    refuse_kind(name, "its pre_tokenizer is " + type_of(member(tokenizer, "pre_tokenizer")) +
                          " without a normalizer of Llama 2's kind");
  text.marks_in_normalizer = !is_metaspace;
  if (is_metaspace) read_metaspace(*parts[0], name, text);
  if (flag_in(model, "ignore_merges", false, name)) refuse_kind(name, "its model has ignore_merges without ByteLevel");
  text.falls_back = flag_in(model, "byte_fallback", false, name);
  text.fuses_unknown = flag_in(model, "fuse_unk", false, name);
}

}  // namespace

bool flag_in(const json& part, const char* option, bool by_default, const std::string& name) {
  const json& value = member(part, option);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_null()) refuse_vocabulary(name, std::string(": its ") + option + " is neither true nor false");
  return by_default;
}

std::vector<const json*> parts_of(const json& whole, const char* list, const std::string& name) {
  if (whole.is_null()) return {};
  if (type_of(whole) != "Sequence") return {&whole};
  const json& each = member(whole, list);
  if (!each.is_array()) refuse_vocabulary(name, std::string(" has a Sequence without ") + list);
  Parts parts;
  for (const json& part : each) {
    const Parts inner = parts_of(part, list, name);
    parts.insert(parts.end(), inner.begin(), inner.end());
  }
  return parts;
}

void read_kind(const json& tokenizer, const std::string& name, TokenizerText& text) {
  require_model(member(tokenizer, "model"), name);
  const Parts parts = parts_of(member(tokenizer, "pre_tokenizer"), "pretokenizers", name);
  if (!parts.empty() && type_of(*parts.back()) == "ByteLevel") {
    read_bytes_kind(tokenizer, parts, name, text);
  } else {
    read_characters_kind(tokenizer, parts, name, text);
  }
}

}  // namespace eave
