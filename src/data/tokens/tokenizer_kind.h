// Finds out from the normalizer, the pre_tokenizer and the options of the model which kind a tokenizer.json is of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/tokens/tokenizer_json.h"

namespace eave {

// The parts of something that may be of type Sequence, whose list is the member `list`.
std::vector<const nlohmann::json*> parts_of(const nlohmann::json& whole, const char* list, const std::string& name);

// Sets all of `text` but tokens and merges. Throws Error(kBadData).
void read_kind(const nlohmann::json& tokenizer, const std::string& name, TokenizerText& text);

}  // namespace eave
