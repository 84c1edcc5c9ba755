// Suggests words that a person may have meant, and writes words for a person and a shell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eave {

std::string lower_case(std::string_view text);  // changes ASCII letters only

// The number of letters to add, drop, change or swap with a neighbour to turn one word into the other. Letter case does
// not count.
std::size_t edit_distance(std::string_view word, std::string_view other);

// For an option that does not exist: "did you mean --max-steps or --lr-step-epochs?", or "see --help".
std::string suggest_options(const std::string& word, const std::vector<std::string>& names);

// The option of which `word` is probably a misspelling, or "". Stricter than suggest_options, because it decides
// whether an environment variable was meant for eave at all.
std::string misspelt_option(const std::string& word, const std::vector<std::string>& names);

// "; did you mean X?", or "" if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// A word as a shell reads it back, whatever it holds: 'it'\''s'.
std::string shell_quoted(std::string_view word);

// The words of a command as a shell takes them from quotes and backslashes, with nothing expanded. nullopt if a quote
// is not closed, or nothing follows a backslash.
std::optional<std::vector<std::string>> split_as_shell(std::string_view text);

// "a, b, c"
std::string comma_list(const std::vector<std::string>& words);

}  // namespace eave
