// Implements `eave generate`: writes text with the model of a run.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "app/commands/generation.h"
#include "app/commands/text_printer.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/resume/huggingface_model.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "data/tokens/vocabulary.h"
#include "eave/check.h"
#include "report/record/config.h"

namespace eave {

CommandLine generate_command_line() {
  CommandLine line(
      "usage: eave generate RUN [--prompt TEXT] [options]\n\n"
      "Writes text with the model of a run with --data text or tokens, of a model.safetensors, or of a folder that\n"
      "save_pretrained wrote for GPT-2, Llama, Mistral or Qwen2. Prints the prompt and what follows on standard\n"
      "output, as it comes, and the speed on standard error.");
  line.add_group(
      "Text",
      {{"prompt", OptionType::kText, "",
        "text to begin with (default: the beginning of a document, which is <s>, <|endoftext|> or the like, or a line "
        "end if the vocabulary has none; '' means the same)"},
       {"prompt-tokens", OptionType::kText, "",
        "numbers of tokens to begin with, with commas between; numbers are then printed, and no vocabulary is needed"},
       {"tokens", OptionType::kInteger, "200", "most tokens to write; <|endoftext|> or the like ends the text before"},
       {"samples", OptionType::kInteger, "1", "number of texts, each from the prompt"},
       {"seed", OptionType::kInteger, "1", "seed of the choice of tokens; the same seed gives the same text"}});
  line.add_group(
      "Choice of each token",
      {{"temperature", OptionType::kReal, "0.8",
        "logits are divided by it: below 1 the text is more probable, above 1 more varied; 0: always the most probable "
        "token"},
       {"top-k", OptionType::kInteger, "0", "draw only among this many of the most probable tokens; 0: among all"},
       {"top-p", OptionType::kReal, "1",
        "draw only among the most probable tokens whose probabilities together reach this share"}});
  line.add_group("Model",
                 {{"step",
                   OptionType::kText,
                   "",
                   "use the checkpoint of this step, or the newest one with last, instead of model.safetensors",
                   {},
                   {"last"}},
                  {"checkpoint-dir", OptionType::kPath, "",
                   "directory of the run's checkpoints (default: the one in its config.json, else RUN/checkpoint)"},
                  {"vocabulary",
                   OptionType::kPath,
                   "",
                   "tokens of the text, as eave train reads them (default: the vocabulary that the run was trained "
                   "with, or the one beside the weights)",
                   {},
                   {"bytes"}},
                  {"threads", OptionType::kInteger, "1", "number of threads for computing, on the CPU"}});
  return line;
}

namespace {

namespace fs = std::filesystem;
using RunConfig = std::map<std::string, std::string>;

struct GenerateRequest {
  fs::path run;
  OptionValues values;
  TokenChoice choice;
  std::int64_t tokens = 0, samples = 0;
  std::uint64_t seed = 0;
  int threads = 1;
};

// An empty text to begin with means what no --prompt means.
std::vector<std::string> without_empty_prompt(std::vector<std::string> words) {
  std::erase(words, "--prompt=");
  const std::array<std::string, 2> apart = {"--prompt", ""};
  for (auto found = std::ranges::search(words, apart); !found.empty(); found = std::ranges::search(words, apart))
    words.erase(found.begin(), found.end());
  return words;
}

void refuse_options_of_chance(const OptionValues& values) {
  const std::string reason = "has no effect with --temperature 0, which always takes the most probable token";
  for (const char* const name : {"top-k", "top-p"})
    if (values.given(name)) refuse_option(values, name, reason);
  if (values.integer("samples", 1) > 1) refuse_option(values, "samples", reason + ": all texts would be the same");
}

GenerateRequest read_generate_request(const CommandLine& line, const std::vector<std::string>& words) {
  const auto [paths, given] = read_first_path(line, without_empty_prompt(words), "RUN",
                                              "no run given; expected RUN, the directory of a run, and then options");
  GenerateRequest request{paths.front(), given, {}};
  const OptionValues& values = request.values;
  constexpr std::int64_t kMost = 1 << 30;
  request.tokens = values.integer("tokens", 0, kMost);
  request.samples = values.integer("samples", 1, kMost);
  request.seed = values.seed("seed");
  request.threads = static_cast<int>(values.integer("threads", 1, 1024));
  request.choice = {values.real("temperature"), values.integer("top-k", 0, kMost), values.real("top-p")};
  if (!(request.choice.temperature >= 0 && request.choice.temperature <= 1e6))
    refuse_option(values, "temperature", "expected a number from 0 to 1000000, such as 0.8");
  if (!(request.choice.top_p > 0 && request.choice.top_p <= 1))
    refuse_option(values, "top-p", "expected a share above 0 and at most 1, such as 0.9");
  if (request.choice.temperature == 0) refuse_options_of_chance(values);
  if (values.has("prompt") && values.has("prompt-tokens"))
    refuse_option(values, "prompt-tokens", "contradicts --prompt: give one of them");
  if (values.has("vocabulary") && values.has("prompt-tokens"))
    refuse_option(values, "vocabulary", "has no effect with --prompt-tokens, for which numbers are printed");
  if (values.has("checkpoint-dir") && !values.has("step"))
    refuse_option(values, "checkpoint-dir", "has no effect without --step");
  return request;
}

// The settings of the run; none for weights alone.
RunConfig config_of(const fs::path& run, const StoredModel& model) {
  std::error_code error;
  const fs::path config = run / "config.json";
  const bool is_of_run = fs::exists(config, error) && !model.is_of_huggingface && !is_folder_of_transformers(run);
  return is_of_run ? read_config(config) : RunConfig();
}

// Opens the vocabulary in the run's folder, or beside a file of weights. nullptr: there is none.
std::unique_ptr<Vocabulary> find_vocabulary_beside(const fs::path& run) {
  std::error_code unknown;
  const fs::path folder = fs::is_directory(run, unknown) ? run : run.parent_path();
  try {
    return open_vocabulary(folder.empty() ? "." : folder.string());
  } catch (const Error& error) {
    if (error.code() != ExitCode::kInputMissing) throw;
    return nullptr;
  }
}

// Opens the vocabulary of the model. nullptr: none is known.
std::unique_ptr<Vocabulary> find_vocabulary(const GenerateRequest& request, const StoredModel& model) {
  const RunConfig config = config_of(request.run, model);
  const std::string named = setting_in(config, "data") == "text" ? setting_in(config, "vocabulary") : "";
  if (named.empty()) {
    return model.description.input.ends_with("vocabulary: bytes") ? open_vocabulary("bytes")
                                                                  : find_vocabulary_beside(request.run);
  }
  std::error_code error;
  if (named != "bytes" && !fs::exists(named, error)) {
    throw Error(ExitCode::kInputMissing, (request.run / "config.json").string() + " names the vocabulary " + named +
                                             ", which is not there; name the same files with --vocabulary PATH");
  }
  return open_vocabulary(named);
}

// Another vocabulary of the same size would write other texts. Files from before 2026-11-29 say no hash.
void check_tokens(const Vocabulary& vocabulary, const RunConfig& config, const StoredModel& model) {
  const std::string hash = hash_of_tokens(vocabulary), &wanted = model.description.vocabulary;
  if (wanted.empty() || hash == wanted) return;
  const std::string named = setting_in(config, "vocabulary");
  throw Error(ExitCode::kConfiguration, "the vocabulary (" + vocabulary.describe() + ") has tokens of the hash " +
                                            hash + ", but the model of " + model.place.string() +
                                            " was trained with those of the hash " + wanted +
                                            (named.empty() ? "" : ", of --vocabulary " + printable(named)) +
                                            "; name the vocabulary that it was trained with by --vocabulary PATH");
}

// A model may know more tokens than its vocabulary has, such as 50304 for the 50257 of GPT-2. A run on text says so by
// --vocabulary-size.
void check_vocabulary(const Vocabulary& vocabulary, const GenerateRequest& request, const StoredModel& model) {
  const int known = model.description.classes, size = vocabulary.size();
  const RunConfig config = config_of(request.run, model);
  const bool may_be_smaller = setting_in(config, "data") != "text" || !setting_in(config, "vocabulary-size").empty();
  if (size == known || (size < known && may_be_smaller)) return check_tokens(vocabulary, config, model);
  throw Error(ExitCode::kConfiguration, "the vocabulary has " + count_text(size, "token") + ", but the model of " +
                                            model.place.string() + " knows " + std::to_string(known) +
                                            "; name the vocabulary that it was trained with by --vocabulary PATH");
}

std::vector<std::int32_t> tokens_in(const OptionValues& values, int classes) {
  const std::string& text = values.text("prompt-tokens");
  std::vector<std::int32_t> tokens;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    std::int32_t token = -1;
    const auto [rest, failure] = std::from_chars(at, end, token);
    if (failure != std::errc() || token < 0 || token >= classes || (rest != end && *rest != ',')) {
      refuse_option(values, "prompt-tokens",
                    "expected numbers of tokens from 0 to " + std::to_string(classes - 1) +
                        " with commas between, such as 1,2,3");
    }
    tokens.push_back(token);
    at = rest;
    if (at == end) return tokens;
  }
}

// Begins as a document does. A line end is the beginning if the vocabulary has no token for it.
std::vector<std::int32_t> prompt_of(const std::string& text, Vocabulary& vocabulary) {
  std::vector<std::int32_t> tokens;
  if (vocabulary.opening() != kNoLabel) tokens.push_back(vocabulary.opening());
  if (text.empty() && tokens.empty() && vocabulary.separator() != kNoLabel) tokens.push_back(vocabulary.separator());
  if (text.empty() && !tokens.empty()) return tokens;
  const std::string begin = text.empty() ? "\n" : text;
  vocabulary.encode({reinterpret_cast<const std::uint8_t*>(begin.data()), begin.size()}, tokens);
  return tokens;
}

void write_as_text(const GenerateRequest& request, Generation& generation, Vocabulary& vocabulary, std::uint32_t sample,
                   std::int64_t& written) {
  const std::string& text = request.values.text("prompt");
  TextPrinter printer(::isatty(STDOUT_FILENO) != 0);
  printer.add(text);
  generation.begin(prompt_of(text, vocabulary));
  bool is_first = text.empty() && vocabulary.begins_with_space();
  for (std::int64_t i = 0; i < request.tokens; ++i, ++written) {
    const std::int32_t token = generation.next(request.choice, vocabulary.size(), request.seed, sample);
    if (token == vocabulary.separator()) break;
    const std::string bytes = vocabulary.bytes_of(token);
    printer.add(is_first && bytes.starts_with(' ') ? bytes.substr(1) : bytes);
    is_first = false;
  }
  printer.finish();
  std::fputs("\n", stdout);
}

void write_as_numbers(const GenerateRequest& request, Generation& generation, int classes, std::uint32_t sample,
                      std::int64_t& written) {
  const std::vector<std::int32_t> prompt = tokens_in(request.values, classes);
  for (std::size_t i = 0; i < prompt.size(); ++i) std::printf("%s%d", i == 0 ? "" : ",", prompt[i]);
  generation.begin(prompt);
  for (std::int64_t i = 0; i < request.tokens; ++i, ++written) {
    std::printf(",%d", generation.next(request.choice, classes, request.seed, sample));
    require_output_written();
  }
  std::fputs("\n", stdout);
}

void write_samples(const GenerateRequest& request) {
  std::unique_ptr<Vocabulary> vocabulary;
  if (request.values.has("vocabulary")) vocabulary = open_vocabulary(request.values.text("vocabulary"));
  const StoredModel model =
      request.values.has("step") ? read_model_of_step(request.run, request.values) : read_stored_model(request.run);
  Generation generation(model, request.threads);
  const bool as_numbers = request.values.has("prompt-tokens");
  if (!as_numbers && vocabulary == nullptr) vocabulary = find_vocabulary(request, model);
  if (!as_numbers && vocabulary == nullptr) {
    throw Error(ExitCode::kUsage, model.place.string() +
                                      " does not say which vocabulary its tokens are of; name it with --vocabulary "
                                      "PATH, or begin with --prompt-tokens 1,2,3 and get numbers");
  }
  if (vocabulary != nullptr) check_vocabulary(*vocabulary, request, model);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t written = 0;
  for (std::int64_t sample = 0; sample < request.samples; ++sample) {
    if (sample > 0) std::fputs("---\n", stdout);
    const auto number = static_cast<std::uint32_t>(sample);
    if (as_numbers) {
      write_as_numbers(request, generation, model.description.classes, number, written);
    } else {
      write_as_text(request, generation, *vocabulary, number, written);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%s in %.2f s, %.0f per second\n", count_text(written, "token").c_str(), seconds,
               static_cast<double>(written) / seconds);
}

// Ends at once if a write fails: nobody reads what would follow.
void generate(const GenerateRequest& request) {
  try {
    write_samples(request);
  } catch (const OutputLost&) {
  }
}

}  // namespace

int generate_command(const std::vector<std::string>& words, const char* const*) {
  return run_request(generate_command_line(), words, read_generate_request, generate);
}

}  // namespace eave
