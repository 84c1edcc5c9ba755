#include "base/options/spelling.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "eave/check.h"
#include "eave/options.h"

namespace eave {
namespace {

constexpr std::size_t kLongestWord = 64;  // a longer word is text, not a name

// Names that other programs use for eave's options.
constexpr std::array<std::pair<const char*, const char*>, 24> kOtherNames = {{{"arch", "model"},
                                                                              {"network", "model"},
                                                                              {"batch-size", "batch"},
                                                                              {"batchsize", "batch"},
                                                                              {"num-epochs", "epochs"},
                                                                              {"learning-rate", "lr"},
                                                                              {"learning-rate-schedule", "lr-schedule"},
                                                                              {"lr-scheduler", "lr-schedule"},
                                                                              {"scheduler", "lr-schedule"},
                                                                              {"weight-decay-rate", "weight-decay"},
                                                                              {"warmup", "warmup-epochs"},
                                                                              {"iterations", "max-steps"},
                                                                              {"num-steps", "max-steps"},
                                                                              {"num-threads", "threads"},
                                                                              {"dataset", "data"},
                                                                              {"data-path", "data-dir"},
                                                                              {"data-root", "data-dir"},
                                                                              {"output-dir", "run-dir"},
                                                                              {"log-dir", "run-dir"},
                                                                              {"run-directory", "run-dir"},
                                                                              {"random-seed", "seed"},
                                                                              {"config-file", "config"},
                                                                              {"bandwidth", "network-rate"},
                                                                              {"latency", "network-delay"}}};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The option that other programs call `word`, with at most `slips` letters wrong; "" if there is none among `names`.
std::string option_called(const std::string& word, const std::vector<std::string>& names, std::size_t slips) {
  for (const auto& [other, option] : kOtherNames) {
    if (contains(names, option) && edit_distance(word, other) <= slips) return option;
  }
  return "";
}

// Options that contain the word or are contained in it, those of the most similar length first.
std::vector<std::string> related_options(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 3, kMost = 4;
  const auto has_part = [](const std::string& text, const std::string& part) {
    return part.size() >= kShortest && text.find(part) != std::string::npos;
  };
  std::vector<std::pair<std::size_t, std::string>> related;
  for (const std::string& name : names) {
    if (has_part(name, word)) related.emplace_back(name.size() - word.size(), name);
    if (has_part(word, name)) related.emplace_back(word.size() - name.size(), name);
  }
  std::sort(related.begin(), related.end());
  if (related.size() > kMost) related.resize(kMost);
  std::vector<std::string> result;
  for (const auto& [distance, name] : related) result.push_back(name);
  return result;
}

// How many letters may be wrong in a name of this length. With more, it is another name and not a slip.
std::size_t slips_in(std::size_t letters) { return letters < 8 ? 1 : letters < 12 ? 2 : 3; }

// In a name of two or three letters, only a swap is a slip: another letter makes another name.
bool is_slip(const std::string& word, const std::string& name) {
  const std::size_t edits = edit_distance(word, name);
  if (std::max(word.size(), name.size()) > 3) return edits <= slips_in(name.size());
  std::string letters = word, others = name;
  std::ranges::sort(letters);
  std::ranges::sort(others);
  return edits == 1 && letters == others;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::size_t edit_distance(std::string_view word, std::string_view other) {
  if (std::max(word.size(), other.size()) > kLongestWord) return kLongestWord;
  const std::string from = lower_case(word), to = lower_case(other);
  using Row = std::array<std::size_t, kLongestWord + 1>;
  Row before{}, last{}, row{};
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      row[j + 1] = std::min({last[j + 1] + 1, row[j] + 1, last[j] + (from[i] == to[j] ? 0 : 1)});
      const bool is_swap = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (is_swap) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = last;
    last = row;
  }
  return last[to.size()];
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortest = 3;  // letters of a beginning that counts
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty() || word.size() < kShortest) return best;
  const std::string begin = lower_case(word);
  const auto longer =
      std::ranges::find_if(candidates, [&](const auto& each) { return lower_case(each).starts_with(begin); });
  return longer == candidates.end() ? "" : *longer;
}

std::string suggest_options(const std::string& word, const std::vector<std::string>& names) {
  const std::string called = option_called(word, names, 1);
  if (!called.empty()) return "did you mean --" + called + "?";
  std::vector<std::string> suggestions = related_options(word, names);
  const std::string near = nearest_word(word, names);
  if (!near.empty() && !contains(suggestions, near)) suggestions.push_back(near);
  if (suggestions.empty()) return "see --help";
  std::string text = "did you mean --" + suggestions.front();
  for (std::size_t i = 1; i < suggestions.size(); ++i) {
    text += (i + 1 < suggestions.size() ? ", --" : " or --") + suggestions[i];
  }
  return text + "?";
}

std::string misspelt_option(const std::string& word, const std::vector<std::string>& names) {
  if (const std::string called = option_called(word, names, slips_in(word.size())); !called.empty()) return called;
  std::string best;
  for (const std::string& name : names) {
    if (is_slip(word, name) && (best.empty() || edit_distance(word, name) < edit_distance(word, best))) best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_word(word, candidates);
  return near.empty() || near == word ? "" : "; did you mean " + near + "?";
}

std::string shell_quoted(std::string_view word) {
  std::string result = "'";
  for (const char letter : word) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::optional<std::vector<std::string>> split_as_shell(std::string_view text) {
  std::vector<std::string> words;
  bool is_within_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (!quote && (letter == ' ' || letter == '\t' || letter == '\n')) {
      is_within_word = false;
      continue;
    }
    if (!is_within_word) words.emplace_back();
    is_within_word = true;
    const bool is_quote = quote ? letter == quote : letter == '\'' || letter == '"';
    const bool may_escape = letter == '\\' && quote != '\'';
    if (is_quote) {
      quote = quote ? 0 : letter;
    } else if (may_escape && i + 1 == text.size()) {
      return std::nullopt;
    } else if (may_escape && (!quote || std::string_view("\\\"$`").find(text[i + 1]) != std::string_view::npos)) {
      words.back() += text[++i];
    } else {
      words.back() += letter;
    }
  }
  if (quote) return std::nullopt;
  return words;
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void refuse_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest_word(name, known);
  throw Error(ExitCode::kUsage,
              "there is no '" + std::string(name) + "'; " +
                  (near.empty() ? "expected one of " + comma_list(known) : "did you mean " + near + "?"));
}

}  // namespace eave
