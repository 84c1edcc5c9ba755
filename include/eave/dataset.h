// Labelled images, and who trains on which of them when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eave/batch.h"
#include "eave/options.h"

namespace eave {

// A set of labelled images. Immutable after opening; `read` may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual ImageShape shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;
  // Writes shape().size() bytes, HWC, 0–255. `index` in [0, size()).
  virtual void read(std::int64_t index, std::span<std::uint8_t> pixels) const = 0;
};

// Training and test part of one dataset, opened and verified: sizes, magic numbers, counts and labels are checked
// before anything is trained. Normalisation constants are per channel, for pixels scaled to [0, 1].
struct DataSplit {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
  std::unique_ptr<Dataset> validation = nullptr;  // nullptr: nothing is held out
  std::vector<float> mean;
  std::vector<float> deviation;
  std::vector<std::string> class_names = {};  // of labels 0, 1 and so on; empty where the set has none
  std::string identity = {};  // tells the data from other data of the same size: a run that goes on must find it again
  std::string note = {};      // a line for the card: where the test set is from; "": nothing to say
  std::vector<std::string> warnings = {};
  int reading_threads = 1;  // with which loaders read: more where a sample takes long, as files to decode do
  // Where a device holds the images too: then batches of them come without inputs.
  const DeviceImages* train_images = nullptr;
  const DeviceImages* test_images = nullptr;
  const DeviceImages* validation_images = nullptr;
};

// Moves this share of the training set, above 0 and below 1, to the validation set: samples drawn once for all seeds,
// rounded to whole ones. Throws Error(kUsage) where either set would be empty.
void hold_out(DataSplit& split, double share);

// Hashes the labels of all parts, the class names and what stands in `identity` (what else `open` knows: names of
// files) into `identity`, the same on all ranks and hosts that have the same data.
void identify(DataSplit& split);

// A sample that cannot be used.
struct BadSample {
  std::string name;     // of its file, from --data-dir on
  std::string message;  // names its path and what is wrong with it
};

// What looking at samples has found.
struct SampleCheck {
  std::int64_t looked_at = 0;
  std::vector<BadSample> bad;  // in the order of the set
};

// A data set that keeps each sample in a file of its own, so that each may be damaged by itself.
struct SampleFiles {
  // Decodes every `parts`-th sample from `part` on, with as many threads as loaders have, and copies nothing to
  // --stage-to. `moved` is called after each, by any of these threads. Throws as DatasetKind::open, but not for samples
  // that are bad.
  SampleCheck (*check)(const OptionValues& values, int part, int parts, const std::function<void()>& moved);
  // Tells all files at once: names, sizes and times of change. The same twice: nobody has written to any of them.
  std::string (*fingerprint)(const OptionValues& values);
  // As DatasetKind::open, without these samples: the set is the one that is left when their files are removed.
  DataSplit (*open_without)(const OptionValues& values, const std::vector<BadSample>& left_out);
};

// A member of the dataset family: one file in src/data and one word in its CMake list.
struct DatasetKind {
  std::string name;                 // as typed: "fashion-mnist"
  std::string summary;              // one line for --help
  std::vector<OptionSpec> options;  // those that read files share --data-dir
  // Throws Error: kInputMissing (with the places looked at and the package or files to get), kBadData (file, offset).
  DataSplit (*open)(const OptionValues& values);
  const SampleFiles* files = nullptr;  // nullptr: `open` looks at all there is
};

const std::vector<DatasetKind>& dataset_kinds();

enum class Sampling { kShard, kWhole, kStratified };

// Deals samples to ranks. Every rank holds the same Sampler and can ask about any rank.
//   shard       one permutation per epoch from (seed, epoch); step t takes the next ranks × batch samples, rank i the
//               i-th part; the last step of an epoch is cut into parts as equal as can be, some maybe empty
//   stratified  as shard, with the permutation arranged so that every stretch of it, and with it every part of every
//               step, has each class's share to within two samples
//   whole       every rank walks the whole set in an order of its own, from (seed, pass, rank), and begins the next
//               pass when it has seen every sample (the EASGD paper's setting)
// An epoch is always size() samples counted over all ranks, so epoch n means the same for every number of ranks. With
// shard and stratified, p ranks at batch n see in every step exactly the samples of one rank at batch p × n.
// Samples are shuffled one by one, never as ready-made batches.
class Sampler {
 public:
  // `labels` is read for stratified only (size entries, else empty). A batch of more than all samples means all.
  // Throws Error(kConfiguration) when there are no samples or fewer than ranks, or no batch.
  Sampler(Sampling sampling, std::int64_t size, int ranks, std::int64_t batch_per_rank, std::uint64_t seed,
          std::vector<std::int32_t> labels);

  int ranks() const { return ranks_; }
  std::int64_t steps_per_epoch() const;
  // Samples that `rank` contributes in this step of any epoch (they do not depend on the epoch). None from ranks() on.
  std::int64_t samples(std::int64_t step_in_epoch, int rank) const;
  std::int64_t samples_of_all_ranks(std::int64_t step_in_epoch) const;
  // Dataset indices of one rank's batch; `indices` has samples(step_in_epoch, rank) entries. Not thread-safe: keeps the
  // current permutation (8 bytes a sample); a new one costs one shuffle of the whole set.
  void indices(std::int64_t epoch, std::int64_t step_in_epoch, int rank, std::span<std::int64_t> indices);

 private:
  std::int64_t first(std::int64_t step_in_epoch, int rank) const;  // place of a rank's part within the step
  std::int64_t samples_of_epoch(int rank) const;
  void arrange(std::int64_t pass, int rank);

  Sampling sampling_;
  std::int64_t size_;
  int ranks_;
  std::int64_t batch_;
  std::uint64_t seed_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> order_;
  std::int64_t order_pass_ = -1;
  int order_rank_ = -1;
};

// How often each class occurs in what `rank` trains on in the given epoch (for `whole`: in the draws of that epoch).
std::vector<std::int64_t> class_histogram(const Dataset& dataset, Sampler& sampler, std::int64_t epoch, int rank);
// "" when the shares are what chance would give; otherwise one sentence naming rank, class, share and the global share.
// Judged by a chi-square test at one in 10^9, and only where the shares also differ by enough to matter.
std::string describe_imbalance(const std::vector<std::int64_t>& of_rank, const std::vector<std::int64_t>& of_all,
                               int rank);

}  // namespace eave
