#include "c/averager_options.h"

#include <algorithm>
#include <sstream>

#include "base/files/user_path.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/spelling.h"
#include "communicator/support/compression.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/optimizer.h"

namespace eave {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSource = "the options";

// A list may have blanks beside its commas: groups=0-1, 2-3
bool continues_list(const Given& given, const std::string& word) {
  return !given.empty() && (given.back().second.ends_with(',') || word.starts_with(','));
}

Given parse(const std::string& options) {
  Given given;
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos && continues_list(given, word)) {
      given.back().second += word;
      continue;
    }
    if (equals == 0 || equals == std::string::npos)
      throw Error(ExitCode::kUsage, "option '" + word + "': expected name=value, such as communicator=easgd");
    const std::string name = word.substr(0, equals);
    if (name.starts_with('-'))
      throw Error(ExitCode::kUsage, "option '" + word + "': an averager's options have no dashes before their names: " +
                                        word.substr(std::min(word.find_first_not_of('-'), equals)));
    if (std::ranges::find(given, name, &Given::value_type::first) != given.end())
      throw Error(ExitCode::kUsage, "option '" + name + "' is given twice; give it once");
    given.emplace_back(name, word.substr(equals + 1));
  }
  return given;
}

std::string text_in(const Given& given, const std::string& name, const std::string& otherwise) {
  const auto found = std::ranges::find(given, name, &Given::value_type::first);
  return found == given.end() ? otherwise : found->second;
}

const CommunicatorKind& kind_in(const Given& given) {
  const std::string name = text_in(given, "communicator", "allreduce");
  try {
    return find_kind(communicator_kinds(), name);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + "; a method of your own needs plugin=FILE");
  }
}

std::vector<OptionSpec> options_of_loop(const CommunicatorKind& kind) {
  return {{"communicator", OptionType::kText, kind.name, "method of averaging"},
          {"plugin", OptionType::kPath, "", "shared object with a method of your own"},
          {"allow-changed-plugin", OptionType::kFlag, "off", "load a state that another file of the plug-in saved"},
          {"lr", OptionType::kReal, "0.1", "learning rate of the first step"},
          {"device", OptionType::kText, "cpu", "device that holds the vectors", {"cpu", "cuda"}},
          {"gpu", OptionType::kInteger, "0", "number of the GPU, as this process counts them"},
          {"steps", OptionType::kInteger, "0", "number of steps of the run; 0: not known"},
          {"seed", OptionType::kInteger, "1", "seed of all random draws"},
          {"momentum", OptionType::kReal, "0", "momentum of the optimizer, for the log of exchanges"},
          {"nesterov", OptionType::kFlag, "off", "the parameters are ahead of the iterate by eave_look_ahead"},
          {"weight-decay", OptionType::kReal, "0", "weight decay, for methods that move the parameters themselves"},
          {"limit-step", OptionType::kSeconds, "10min", "longest wait for another rank; 0s: no limit"},
          {"replica-hash-every", OptionType::kInteger, "100", "steps between comparisons of ranks; 0: none"},
          {"on-replica-fault",
           OptionType::kText,
           "stop",
           "stop the job, or repair the rank, if a rank differs",
           {"stop", "repair"}},
          {"on-nonfinite", OptionType::kText, "skip", "skip a step that is not finite, or abort", {"skip", "abort"}},
          {"nonfinite-limit", OptionType::kInteger, "10", "number of such steps in a row that ends the job"}};
}

// Declares only the options of the chosen codec, because those of other codecs have no effect.
void declare_compression(const Given& given, OptionValues& values) {
  OptionSpec compression = compression_option();
  const auto asked = std::ranges::find(given, compression.name, &Given::value_type::first);
  for (const CodecKind& codec : codec_kinds()) {
    compression.choices.push_back(codec.name);
    if (asked == given.end() || asked->second != codec.name) continue;
    for (const OptionSpec& option : codec.options) values.declare(option);
  }
  values.declare(compression);
}

// "easgd, gossip": the members of a family that have this option.
template <typename Kind>
std::string members_with(const std::vector<Kind>& kinds, const std::string& option) {
  std::vector<std::string> members;
  for (const Kind& kind : kinds)
    if (std::ranges::find(kind.options, option, &OptionSpec::name) != kind.options.end()) members.push_back(kind.name);
  return comma_list(members);
}

std::string methods_that_compress() {
  std::vector<std::string> methods;
  for (const CommunicatorKind& kind : communicator_kinds())
    if (kind.traits.compresses) methods.push_back(kind.name);
  return comma_list(methods);
}

// Refuses an option of other methods or codecs, in the words of `eave train`.
void refuse_of_others(const std::string& name, const CommunicatorKind& kind, const Given& given) {
  const std::string compression = compression_option().name, codecs = members_with(codec_kinds(), name);
  std::string chosen = "communicator=" + kind.name, owners = members_with(communicator_kinds(), name);
  if (!codecs.empty() && kind.traits.compresses) {
    chosen = compression + "=" + text_in(given, compression, "none");
    owners = codecs;
  } else if (!codecs.empty() || name == compression) {
    owners = methods_that_compress();
  }
  if (owners.empty()) return;
  throw Error(ExitCode::kUsage, name + " has no effect with " + chosen + "; it belongs to " + owners);
}

// The bounds are those of `eave train`. But a schedule may begin with a rate of 0, and a loop with scaled losses may
// have any finite one.
void refuse_out_of_bounds(const OptionValues& values) {
  real_in(values, "lr", 0, 1e30);
  real_in(values, "momentum", 0, 1);
  real_in(values, "weight-decay", 0, 1e6);
}

// Options with the same name are one option, so those of a plug-in must agree with eave's own.
void declare_options_of(const CommunicatorKind& kind, OptionValues& values) {
  const Plugin* plugin = plugin_of(kind.name);
  try {
    for (const OptionSpec& option : kind.options) values.declare(option);
  } catch (const Error& error) {
    if (!plugin) throw;
    throw Error(ExitCode::kUsage,
                "plug-in " + plugin->path + ": its options do not go with eave's own: " + error.what());
  }
}

OptionValues values_of(const CommunicatorKind& kind, const Given& given) {
  OptionValues values;
  for (const OptionSpec& option : options_of_loop(kind)) values.declare(option);
  declare_options_of(kind, values);
  if (kind.traits.compresses) declare_compression(given, values);
  for (const auto& [name, text] : given) {
    if (!values.entries().contains(name)) refuse_of_others(name, kind, given);
    values.set(name, text, kSource);
  }
  refuse_out_of_bounds(values);
  return values;
}

// Refuses options of the loop that have no effect with this method.
void refuse_without_effect(const CommunicatorKind& kind, const OptionValues& values) {
  const CommunicatorTraits& traits = kind.traits;
  if (traits.uses_optimizer && values.given("weight-decay"))
    refuse_option(values, "weight-decay", "has no effect: weight decay is the optimizer's, which is yours");
  if (!traits.uses_optimizer && values.real("momentum") != 0)
    refuse_option(values, "momentum",
                  "has no effect: " + kind.name +
                      " moves the parameters itself, without an "
                      "optimizer; give it one without momentum, and center-momentum here");
  if (values.text("on-nonfinite") == "abort" && values.given("nonfinite-limit"))
    refuse_option(values, "nonfinite-limit", "has no effect with on-nonfinite=abort, which acts on the first");
  for (const char* name : {"replica-hash-every", "on-replica-fault"})
    if (!traits.exchanges_together && values.given(name))
      refuse_option(values, name,
                    "has no effect: eave compares replicas only if all ranks exchange together; leave it out");
  if (values.given("on-replica-fault") && values.integer("replica-hash-every", 0) == 0)
    refuse_option(values, "on-replica-fault", "has no effect: replica-hash-every is 0");
}

// Refuses options of a method that need what only `eave train` has.
void refuse_of_trainer(const OptionValues& values) {
  const auto is_given = [&](const char* name) { return values.entries().contains(name) && values.given(name); };
  if (is_given("center-ranks")) throw Error(ExitCode::kUsage, "center-ranks has no effect here: every rank trains");
  if (is_given("replay"))
    refuse_option(values, "replay", "repeats a run of eave train; async-order=round-robin makes a job repeatable here");
  if (is_given("worker-momentum") && values.text("worker-momentum") != "local")
    refuse_option(values, "worker-momentum",
                  "has no effect here: the optimizer's vectors are yours, and eave does not reach them; leave it out");
}

// The options that must be the same on all ranks: all but gpu.
std::string shared_part(const std::string& options) {
  std::string shared;
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (!word.starts_with("gpu=")) shared += (shared.empty() ? "" : " ") + word;
  return shared;
}

void load_plugins(Transport& transport, const std::string& options) {
  std::string loaded;
  agree(transport, [&] {
    for (const auto& [name, text] : parse(options)) {
      if (name != "plugin") continue;
      loaded += text + " (" + load_plugin(path_of_word(text, "plugin")).file_hash + ") ";
    }
  });
  if (!loaded.empty()) require_same(transport, "plug-in " + loaded);
}

// Gradients on a GPU come all at once after backward, so small buckets would begin nothing earlier, and each costs the
// start of a sum. The sums have the same bits.
void set_defaults_of_gpu(OptionValues& values) {
  if (values.text("device") == "cuda" && values.entries().contains("bucket-bytes"))
    values.set_default("bucket-bytes", "64MiB");
}

// The first line of each text in which the two differ.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream lines_of_a(a), lines_of_b(b);
  while (lines_of_a || lines_of_b) {
    std::string line_of_a, line_of_b;
    const bool has_a = static_cast<bool>(std::getline(lines_of_a, line_of_a));
    const bool has_b = static_cast<bool>(std::getline(lines_of_b, line_of_b));
    if (has_a != has_b || line_of_a != line_of_b)
      return {has_a ? line_of_a : "nothing more", has_b ? line_of_b : "nothing more"};
  }
  return {a, b};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> AveragerOptions::settings() const {
  Given settings;
  for (const auto& [name, entry] : values.entries()) {
    const bool is_of_place = name == "device" || name == "gpu" || name == "limit-step";
    if (entry.is_set && !is_of_place) settings.emplace_back(name, entry.text);
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> AveragerOptions::defaults_of_method() const {
  Given defaults;
  const auto add = [&](const OptionSpec& option) {
    const bool is_in_force = values.entries().contains(option.name) && values.has(option.name);
    if (is_in_force && !values.given(option.name)) defaults.emplace_back(option.name, values.text(option.name));
  };
  for (const OptionSpec& option : kind->options) add(option);
  add(compression_option());
  return defaults;
}

AveragerOptions parse_averager_options(const std::string& options) {
  const Given given = parse(options);
  AveragerOptions parsed;
  parsed.kind = &kind_in(given);
  if (const Plugin* plugin = plugin_of(parsed.kind->name)) parsed.plugin = *plugin;
  parsed.values = values_of(*parsed.kind, given);
  if (!parsed.plugin) set_defaults_of_gpu(parsed.values);
  refuse_without_effect(*parsed.kind, parsed.values);
  refuse_of_trainer(parsed.values);
  return parsed;
}

void in_words_of_averager(const std::function<void()>& work) {
  const std::string source = " (" + std::string(kSource) + ")";
  try {
    work();
  } catch (const Error& error) {
    std::string own = error.what();
    if (own.find(source) == std::string::npos) throw;
    for (std::size_t end = own.find(source); end != std::string::npos; end = own.find(source)) {
      own.erase(end, source.size());
      const std::size_t begin = own.rfind("--", end);
      if (begin == std::string::npos) continue;
      own.erase(begin, 2);
      const std::size_t blank = own.find(' ', begin);
      if (blank < end - 2) own[blank] = '=';
    }
    throw Error(error.code(), own);
  }
}

void refuse_demands(Communicator& communicator) {
  if (communicator.micro_batches() > 0)
    throw Error(ExitCode::kUsage, "reproducible=on is about the micro-batches of eave train: leave it out");
  if (communicator.moments() != nullptr)
    throw Error(ExitCode::kUsage, "batch-norm=sync is about the layers of eave train: leave it out");
}

void agree_on_options(Transport& transport, const std::string& options, std::size_t parameters) {
  require_same(transport, "the options '" + shared_part(options) + "' for " + count_text(parameters, "parameter"));
  load_plugins(transport, options);
}

void require_same(Transport& transport, const std::string& own) {
  const std::vector<std::string> of_ranks = transport.gather(own);
  let_first_judge(transport, [&] {
    for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
      if (of_ranks[rank] == of_ranks[0]) continue;
      const auto [first, other] = first_difference(of_ranks[0], of_ranks[rank]);
      throw Error(ExitCode::kConfiguration, "rank 0 was given " + first + ", rank " + std::to_string(rank) + " " +
                                                other + "; give all ranks the same");
    }
  });
}

namespace {

constexpr std::int64_t kEnough = 4;  // exchanges

bool has_fixed_intervals(const OptionValues& values) {
  const auto is_set = [&](const char* name) { return values.entries().contains(name) && values.given(name); };
  return values.entries().contains("tau") && !is_set("tau-warmup") && !is_set("adaptive-tau") &&
         !is_set("post-local-at");
}

}  // namespace

std::string in_words_of_averager(std::string warning, const OptionValues& values) {
  std::string own;
  while (true) {
    const std::size_t at = warning.find("--");
    own += warning.substr(0, at);
    if (at == std::string::npos) return own;
    warning.erase(0, at + 2);
    const std::string name = warning.substr(0, warning.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"));
    own += name;
    warning.erase(0, name.size());
    const auto found = values.entries().find(name);
    const bool is_known = found != values.entries().end() && !found->second.text.empty();
    if (is_known && warning.starts_with(" " + found->second.text)) warning[0] = '=';
  }
}

std::string describe_few_exchanges(const OptionValues& values, std::int64_t steps) {
  if (steps == 0 || !has_fixed_intervals(values)) return "";
  const std::int64_t tau = values.integer("tau", 1), exchanges = steps / tau;
  if (exchanges >= kEnough) return "";
  const std::string after = "after " + count_text(steps, "step") + " with tau=" + std::to_string(tau) + " the ranks ";
  const std::string advice = tau > 1 ? "; take a smaller tau, or more steps" : "; take more steps";
  if (exchanges == 0) return after + "have never exchanged: each has trained alone" + advice;
  return after + "have exchanged at most " + count_text(exchanges, "time") + ": that is little averaging" + advice;
}

}  // namespace eave
