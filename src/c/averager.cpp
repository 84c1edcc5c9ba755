#include "c/averager.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/host.h"
#include "communicator/compression.h"
#include "communicator/plugin.h"
#include "eave/check.h"
#include "eave/optimizer.h"

namespace eave {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSource = "the options";

// Of the rank whose transport this thread calls: a transport has one device at a time.
thread_local const void* gpu_in_use = nullptr;

Given parse(const std::string& options) {
  Given given;
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(ExitCode::kUsage, "option '" + word + "': expected name=value, such as communicator=easgd");
    given.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return given;
}

const CommunicatorKind& kind_in(const Given& given) {
  const auto found = std::ranges::find(given, std::string("communicator"), &Given::value_type::first);
  return find_kind(communicator_kinds(), found == given.end() ? "allreduce" : found->second);
}

// Those of the method, of its compression, and what a method asks of the run's optimizer.
OptionValues values_of(const CommunicatorKind& kind, const Given& given) {
  OptionValues values;
  values.declare({"communicator", OptionType::kText, kind.name, "the method"});
  values.declare({"plugin", OptionType::kPath, "", "a shared object with a method of one's own"});
  values.declare({"lr", OptionType::kReal, "0.1", "the first step's learning rate"});
  values.declare({"device", OptionType::kText, "cpu", "where the vectors lie", {"cpu", "cuda"}});
  values.declare({"gpu", OptionType::kInteger, "0", "which, as this process counts them"});
  values.declare({"steps", OptionType::kInteger, "0", "of the run; 0: not known"});
  values.declare({"seed", OptionType::kInteger, "1", "of what is drawn by chance"});
  for (const OptionSpec& option : kind.options) values.declare(option);
  for (const OptionSpec& option : find_kind(optimizer_kinds(), "sgd").options) values.declare(option);
  if (kind.traits.compresses) {
    OptionSpec compression = compression_option();
    for (const CodecKind& codec : codec_kinds()) {
      compression.choices.push_back(codec.name);
      for (const OptionSpec& option : codec.options) values.declare(option);
    }
    values.declare(compression);
  }
  for (const auto& [name, text] : given) {
    if (name == "center-ranks") throw Error(ExitCode::kUsage, "center-ranks has no effect here: every rank trains");
    values.set(name, text, kSource);
  }
  return values;
}

Given settings_of(const OptionValues& values) {
  Given settings;
  for (const auto& [name, entry] : values.entries()) {
    if (entry.is_set && name != "device" && name != "gpu") settings.emplace_back(name, entry.text);
  }
  return settings;
}

// The options that are the same on all ranks.
std::string shared_part(const std::string& options) {
  std::string shared;
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (!word.starts_with("gpu=")) shared += (shared.empty() ? "" : " ") + word;
  return shared;
}

void require_same(Transport& transport, const std::string& own) {
  const std::vector<std::string> of_ranks = transport.gather(own);
  let_first_judge(transport, [&] {
    for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
      if (of_ranks[rank] != of_ranks[0])
        throw Error(ExitCode::kConfiguration, "rank 0 was given " + of_ranks[0] + ", rank " + std::to_string(rank) +
                                                  " " + of_ranks[rank] + "; give all ranks the same");
    }
  });
}

void load_plugins(Transport& transport, const std::string& options) {
  std::string loaded;
  agree(transport, [&] {
    for (const auto& [name, text] : parse(options)) {
      if (name != "plugin") continue;
      loaded += text + " (" + load_plugin(text).file_hash + ") ";
    }
  });
  if (!loaded.empty()) require_same(transport, "plug-in " + loaded);
}

}  // namespace

Averager::Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients) {
  require_same(transport,
               "the options '" + shared_part(options) + "' for " + std::to_string(parameters.size()) + " parameters");
  load_plugins(transport, options);
  const std::vector<std::string> hosts = transport.all_gather(host_name());
  const CommunicatorKind* kind = nullptr;
  agree(transport, [&] {
    const Given given = parse(options);
    kind = &kind_in(given);
    values_ = values_of(*kind, given);
    if (kind->traits.only_one_rank && transport.size() > 1)
      throw Error(ExitCode::kUsage, "communicator=" + kind->name + " is for one rank");
    open_gpu(parameters, gradients);
  });
  attach_gpu(transport);
  replica_ = {.parameters = parameters, .gradients = gradients, .statistics = {}};
  if (gpu_) replica_.device = gpu_.get();
  workers_ = transport.size();
  std::vector<std::string> warnings;
  agree(transport, [&] {
    communicator_ = kind->make({.transport = *counting_,
                                .values = values_,
                                .learning_rate = values_.real("lr"),
                                .warnings = warnings,
                                .steps = values_.integer("steps", 0),
                                .seed = static_cast<std::uint64_t>(values_.integer("seed", 0)),
                                .settings = settings_of(values_),
                                .hosts = hosts,
                                .optimizer_vectors = 0});
    if (communicator_->micro_batches() > 0)
      throw Error(ExitCode::kUsage, "reproducible=on is about the micro-batches of eave train: leave it out");
    if (communicator_->moments() != nullptr)
      throw Error(ExitCode::kUsage, "batch-norm=sync is about the layers of eave train: leave it out");
  });
  description_ = communicator_->equation();
  for (const std::string& warning : warnings) description_ += "\nwarning: " + warning;
  communicator_->begin(replica_);
  replica_.device->wait();
}

Averager::~Averager() {
  if (gpu_in_use == this) gpu_in_use = nullptr;
}

void Averager::open_gpu(Slice parameters, Slice gradients) {
  if (values_.text("device") == "cpu") {
    if (values_.given("gpu")) throw Error(ExitCode::kUsage, "gpu=N has no effect without device=cuda");
    return;
  }
  if (gpu_in_use) throw Error(ExitCode::kUsage, "device=cuda: another averager is open; close it first");
  gpu_ = gpu_device(values_.integer("gpu", 0));
  if (!gpu_->holds(parameters) || !gpu_->holds(gradients))
    throw Error(ExitCode::kUsage, "parameters and gradients do not lie in the memory of " + gpu_->name());
}

// NCCL where every rank has a GPU of its own, as `eave train` does.
void Averager::attach_gpu(Transport& transport) {
  if (gpu_ && transport.name() == "mpi") nccl_ = make_nccl_transport(transport, NcclUse::kWherePossible);
  counting_ = make_counting_transport(nccl_ ? *nccl_ : transport);
  if (!gpu_) return;
  attachment_.emplace(*counting_, *gpu_);
  gpu_in_use = this;
}

void Averager::enter(Stage from, Stage to, const char* call) {
  if (stage_ != from)
    throw Error(ExitCode::kUsage,
                std::string(call) + " is out of turn: a step is begin_step, before_update, after_update");
  stage_ = to;
}

void Averager::begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate) {
  const bool is_even = samples == 0 && samples_everywhere == 0;
  if (!is_even && (samples < 0 || samples_everywhere < std::max<std::int64_t>(samples, 1)))
    throw Error(ExitCode::kUsage, "begin_step: " + std::to_string(samples) + " samples of " +
                                      std::to_string(samples_everywhere) + " on all ranks");
  enter(Stage::kBetweenSteps, Stage::kComputing, "begin_step");
  step_.samples = is_even ? 1 : samples;
  step_.samples_everywhere = is_even ? workers_ : samples_everywhere;
  step_.learning_rate = learning_rate;
  communicator_->before_gradients(step_);
  replica_.device->wait();
}

bool Averager::before_update(double loss_sum) {
  enter(Stage::kComputing, Stage::kUpdating, "before_update");
  step_.loss_sum = loss_sum;
  const float weight = communicator_->gradient_weight(step_);
  if (weight != 1) replica_.device->scale(replica_.gradients, weight);
  // Before the optimizer's step, so from the values that the gradients belong to.
  if (const std::optional<Pull> pull = communicator_->before_update(step_))
    replica_.device->pull_parameters(replica_.parameters, *pull);
  replica_.device->wait();
  return communicator_->updates(step_);
}

void Averager::after_update() {
  enter(Stage::kUpdating, Stage::kBetweenSteps, "after_update");
  communicator_->after_update(step_);
  replica_.device->wait();
  ++step_.index;
}

void Averager::write_consensus(Slice into) {
  enter(Stage::kBetweenSteps, Stage::kBetweenSteps, "consensus");
  agree(*counting_, [&] {
    if (gpu_ && !gpu_->holds(into))
      throw Error(ExitCode::kUsage, "consensus: what is to be written does not lie in the memory of " + gpu_->name());
  });
  const ConstSlice values = communicator_->consensus();
  if (gpu_ && !gpu_->holds(values)) {
    gpu_->write(into, values);
  } else {
    replica_.device->copy(into, values);
  }
  replica_.device->wait();
}

void Averager::finish() {
  communicator_->finish();
  replica_.device->wait();
}

}  // namespace eave
