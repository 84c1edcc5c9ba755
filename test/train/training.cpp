#include "test/train/training.h"

#include <algorithm>

#include "eave/decorators.h"
#include "eave/job.h"
#include "eave/random.h"

namespace eave {

std::int32_t CraftedImages::label(std::int64_t index) const {
  return static_cast<std::int32_t>(random_words({5, Purpose::kTest, 1}, static_cast<std::uint64_t>(index), 0)[0] % 5);
}

void CraftedImages::read(std::int64_t index, std::span<std::uint8_t> pixels) const {
  RandomStream random({5, Purpose::kTest, 2}, static_cast<std::uint64_t>(index));
  const auto bright = static_cast<std::size_t>(label(index));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(random.below(160) + (i / 36 % 5 == bright ? 90 : 0));
  }
}

DataSplit crafted_data(std::int64_t train, std::int64_t test) {
  DataSplit split;
  split.train = std::make_unique<CraftedImages>(train);
  split.test = std::make_unique<CraftedImages>(test);
  split.mean = {0.4f, 0.4f, 0.4f};
  split.deviation = {0.25f, 0.25f, 0.25f};
  return split;
}

Training::Training(Transport& transport, const TrainingSetting& setting)
    : Training(transport, setting, crafted_data(setting.samples, setting.test_samples)) {}

Training::Training(Transport& transport, const TrainingSetting& setting, DataSplit data)
    : setting_(setting), data_(std::move(data)), counting_(make_counting_transport(transport)) {
  build(transport);
}

void Training::build(Transport& transport) {
  std::vector<std::int32_t> labels;
  if (setting_.sampling == Sampling::kStratified) {
    for (std::int64_t i = 0; i < data_.train->size(); ++i) labels.push_back(data_.train->label(i));
  }
  sampler_ = std::make_unique<Sampler>(setting_.sampling, data_.train->size(), transport.size(), setting_.batch,
                                       setting_.seed, labels);
  if (setting_.module != nullptr) {
    open_gpu();
  } else {
    compute_ = make_cpu_compute(1);
  }
  Device& device = compute_->device();
  model_ = std::make_unique<Model>(another_model());
  const OptimizerKind& rule = find_kind(optimizer_kinds(), setting_.rule);
  optimizer_ =
      rule.make({values_of(rule.options, setting_.optimizer), model_->parameter_size(), device, model_->parameters()});
  schedule_ = std::make_unique<Schedule>(values_of(Schedule::options(), setting_.rate), data_.train->size(),
                                         4 * data_.train->size(), 0);
  replica_ = std::make_unique<Replica>(*model_, *optimizer_, setting_.seed, device);
  if (setting_.ema_decay > 0) {
    average_ =
        std::make_unique<ConsensusAverage>(device, replica_->parameters.size(), setting_.ema_decay, setting_.ema_every);
  }
  attachment_.emplace(*counting_, device);
  const CommunicatorKind& kind = find_kind(communicator_kinds(), setting_.communicator);
  traits_ = kind.traits;
  std::vector<OptionSpec> options = kind.options;
  for (const OptionSpec& option : compression_options()) options.push_back(option);
  const OptionValues values = values_of(options, setting_.averaging);
  communicator_ =
      kind.make({*counting_, values, schedule_->learning_rate(0), warnings_of_method_, 0, setting_.plan.first_step});
}

void Training::open_gpu() {
  gpu_ = setting_.module->open_device(0);
  compute_ = setting_.module->make_compute(*gpu_, {.precision = Precision::kFp32, .deterministic = true});
  train_images_ = load_images(*compute_, data_, *data_.train, setting_.augmentation, true, setting_.seed);
  test_images_ = load_images(*compute_, data_, *data_.test, setting_.augmentation, false, setting_.seed);
  data_.train_images = train_images_.get();
  data_.test_images = test_images_.get();
}

Model Training::another_model() {
  return Model(model_specification(setting_.model), input(), data_.train->classes(), setting_.batch, *compute_);
}

TrainingParts Training::parts() {
  TrainingParts parts{*replica_,  *communicator_, traits_,   *counting_,           *counting_,
                      *schedule_, data_,          *sampler_, setting_.augmentation};
  parts.files = files;
  parts.average = average_.get();
  return parts;
}

TrainingResult Training::run() {
  TrainingEvents events;
  events.glance = [this](const StepRecord& record) { glances.push_back(record); };
  events.step = [this](const StepRecord& record) {
    steps.push_back(record);
    at_step(record);
  };
  events.evaluation = [this](const EvaluationRecord& record) { evaluations.push_back(record); };
  events.records = [this](int rank, const auto& of_rank) { records.emplace_back(rank, of_rank); };
  events.warning = [this](const std::string& warning) {
    warnings.push_back(warning);
    at_warning(warning);
  };
  events.flush = flush;
  events.require_directory = require_directory;
  events.straggler = [this](const Straggler& slow) { stragglers.push_back(slow); };
  return train(parts(), setting_.plan, events);
}

std::vector<float> Training::values_in(ConstSlice slice) const {
  std::vector<float> values(slice.size());
  replica_->device.read(slice, values);
  return values;
}

std::vector<float> Training::parameters() const { return values_in(replica_->parameters.slice()); }

std::vector<float> Training::statistics() const { return values_in(replica_->statistics.slice()); }

std::vector<float> Training::momentum() const {
  const std::vector<Slice> state = replica_->optimizer.state();
  return state.empty() ? std::vector<float>() : values_in(state.front());
}

std::vector<float> Training::average() const { return average_ ? values_in(average_->values()) : std::vector<float>(); }

std::vector<float> Training::center() { return values_in(communicator_->consensus()); }

TrainingSetting setting_with(const std::string& communicator, int ranks) {
  TrainingSetting setting;
  setting.communicator = communicator;
  setting.averaging = frequent_exchanges(communicator, ranks);
  return setting;
}

EndedJob run_job(int ranks, const std::function<void(Transport&)>& body) {
  EndedJob ended{0, std::vector<std::string>(static_cast<std::size_t>(ranks))};
  ended.code = find_kind(transport_kinds(), ranks == 1 ? "loopback" : "threads").run(ranks, [&](Transport& transport) {
    try {
      body(transport);
    } catch (const Error& error) {
      ended.messages[static_cast<std::size_t>(transport.rank())] = error.what();
      throw;
    }
  });
  return ended;
}

bool goes_with(const std::string& method, int ranks) {
  const std::vector<std::string> names = communicator_names(ranks);
  return std::ranges::find(names, method) != names.end();
}

std::vector<std::string> methods_with(bool CommunicatorTraits::*trait) {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.traits.*trait) names.push_back(kind.name);
  }
  return names;
}

std::vector<float> values_of_tensor(const std::vector<float>& all, const TensorInfo& tensor) {
  const auto first = all.begin() + tensor.offset;
  return {first, first + tensor.size};
}

std::string in_identifiers(const testing::TestParamInfo<std::string>& each) { return identifier(each.param); }

}  // namespace eave
