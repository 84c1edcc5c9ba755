// One rank's training as tests build it: crafted images, a small model and any communicator. Its members record the
// events that the trainer reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cuda_module.h"
#include "eave/compute.h"
#include "eave/decorators.h"
#include "eave/trainer.h"
#include "test/communicator/every_communicator.h"
#include "test/communicator/worker.h"
#include "test/transport/ranks.h"
#include "train/loop/consensus_average.h"

namespace eave {

// A dataset of any size with 5 classes of 12 × 12 × 3 images of noise. In an image of class k, rows k, k + 5, ... are
// brighter. Bytes and labels depend only on the index.
class CraftedImages : public Dataset {
 public:
  explicit CraftedImages(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  ImageShape shape() const override { return {12, 12, 3}; }
  int classes() const override { return 5; }
  std::int32_t label(std::int64_t index) const override;
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override;

 private:
  std::int64_t size_;
};

DataSplit crafted_data(std::int64_t train, std::int64_t test);

inline TrainingPlan brief_plan() {
  TrainingPlan plan;
  plan.steps = 12;
  plan.evaluation_batch = 16;
  return plan;
}

struct TrainingSetting {
  std::string model = "conv2d 4 3x3 pad 1; relu; max_pool 2; flatten; dense 16; relu; dropout 0.5; dense classes";
  std::int64_t samples = 96;
  std::int64_t test_samples = 53;
  std::int64_t batch = 8;  // of each rank
  Sampling sampling = Sampling::kShard;
  std::string communicator = "allreduce";
  Given averaging = {};  // options of the communicator
  std::string rule = "sgd";
  Given optimizer = {{"momentum", "0.9"}};  // options of that rule
  Given rate = {{"lr", "0.02"}};            // options of the learning-rate schedule
  Augmentation augmentation = {.pad = 1, .crop_height = 10, .crop_width = 10, .flip = true};
  std::uint64_t seed = 1;
  TrainingPlan plan = brief_plan();
  double ema_decay = 0;  // above 0: the run has a moving average
  std::int64_t ema_every = 1;
  // Takes from `ranks` the access to the checkpoint directory. If this rank is one of them, its directory is a path
  // that does not exist and cannot be created.
  void take_access(const Transport& transport, std::vector<int> ranks) {
    plan.checkpoints.ranks_without_access = std::move(ranks);
    if (std::ranges::binary_search(plan.checkpoints.ranks_without_access, transport.rank()))
      plan.checkpoints.directory = "/nowhere/" + plan.checkpoints.directory;
  }
  // If set, trains on the module's first GPU, in float32, with the images in its memory. Otherwise on the CPU.
  const CudaModule* module = nullptr;
};

// The setting of a run with `communicator`, which exchanges often and in a fixed order on `ranks` ranks.
TrainingSetting setting_with(const std::string& communicator, int ranks = 1);

class Training {
 public:
  Training(Transport& transport, const TrainingSetting& setting);
  Training(Transport& transport, const TrainingSetting& setting, DataSplit data);

  TrainingResult run();

  TrainingParts parts();
  const TrainingPlan& plan() const { return setting_.plan; }
  const DataSplit& data() const { return data_; }
  Replica& replica() { return *replica_; }
  Communicator& communicator() { return *communicator_; }
  Model& model() { return *model_; }
  ImageShape input() const { return setting_.augmentation.output(data_.train->shape()); }
  // A second model of the same layers, which shares nothing with the one that is trained.
  Model another_model();
  std::vector<float> parameters() const;
  std::vector<float> statistics() const;
  std::vector<float> momentum() const;  // the optimizer's first vector; empty if it has none
  std::vector<float> center();
  std::vector<float> average() const;  // empty if the run has none

  FileCalls* files = nullptr;  // the calls with which checkpoints are written; null: the system's
  std::function<std::string()> flush;
  std::function<void()> require_directory;
  std::function<void(const StepRecord&)> at_step = [](const StepRecord&) {};
  std::function<void(const std::string&)> at_warning = [](const std::string&) {};
  // The records and warnings that the trainer reported, in order:
  std::vector<StepRecord> glances;
  std::vector<StepRecord> steps;  // of this rank
  std::vector<EvaluationRecord> evaluations;
  std::vector<std::pair<int, std::vector<StepRecord>>> records;  // rank, its records
  std::vector<Straggler> stragglers;
  std::vector<std::string> warnings;

 private:
  void build(Transport& transport);
  std::vector<float> values_in(ConstSlice slice) const;
  void open_gpu();

  TrainingSetting setting_;
  DataSplit data_;
  std::unique_ptr<CountingTransport> counting_;
  std::unique_ptr<Device> gpu_;
  std::unique_ptr<Compute> compute_;
  std::unique_ptr<DeviceImages> train_images_, test_images_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Replica> replica_;
  CommunicatorTraits traits_;
  std::optional<Attachment> attachment_;
  std::vector<std::string> warnings_of_method_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<ConsensusAverage> average_;
};

// A training that has run to its end.
class Trained final : public Training {
 public:
  Trained(Transport& transport, const TrainingSetting& setting) : Training(transport, setting), result(run()) {}
  const TrainingResult result;
};

// Runs `body` on all `ranks` and returns its results in the order of the ranks.
template <class Body>
auto on_each_rank(const Ranks& ranks, Body body) {
  std::vector<std::invoke_result_t<Body, Transport&>> results(static_cast<std::size_t>(ranks.count));
  on_ranks(ranks, [&](Transport& transport) { results[static_cast<std::size_t>(transport.rank())] = body(transport); });
  return results;
}

// A job in threads that ended with an error: its exit code, and the message of each rank's error.
struct EndedJob {
  int code = 0;
  std::vector<std::string> messages;
};
EndedJob run_job(int ranks, const std::function<void(Transport&)>& body);

// A test that is repeated with each of several methods. Its parameter is the method's name.
class OfMethods : public testing::TestWithParam<std::string> {
 protected:
  static TrainingSetting setting(int ranks = 1) { return setting_with(GetParam(), ranks); }
};

// Whether a method can run on so many ranks.
bool goes_with(const std::string& method, int ranks);
// The methods that have a trait.
std::vector<std::string> methods_with(bool CommunicatorTraits::*trait);
// The Euclidean distance of two vectors of equal size, as a share of the second one's norm.
template <class Number>
double relative_distance(const std::vector<Number>& a, const std::vector<Number>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(double{a.at(i)} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / norm);
}
std::vector<float> values_of_tensor(const std::vector<float>& all, const TensorInfo& tensor);

// The text parameter of a test, in a form that is valid in the test's name.
std::string in_identifiers(const testing::TestParamInfo<std::string>& each);

}  // namespace eave
