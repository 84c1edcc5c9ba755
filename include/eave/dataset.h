// Datasets of labelled images or of text, and the sampler, which decides which rank trains on which samples in which
// step.
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

class TokenDataset;

// A set of labelled images, unless tokens() says otherwise. It does not change after opening. Several threads may call
// `read` at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual ImageShape shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;
  // Writes shape().size() bytes, HWC, 0–255. `index` is in [0, size()).
  virtual void read(std::int64_t index, std::span<std::uint8_t> pixels) const = 0;
  // Not nullptr if the samples are windows of text. Then only the functions of TokenDataset read samples.
  virtual const TokenDataset* tokens() const { return nullptr; }
};

// A text whose samples are windows of context() tokens, one behind another. The label of each token is the next token
// of the text, so every token but the first is a label once. classes() is the size of the vocabulary, at most 2^24.
class TokenDataset : public Dataset {
 public:
  virtual int context() const = 0;
  // Writes the context() tokens of a window and the label of its last token, each in [0, classes()). After the
  // end of the text it writes kNoLabel; each window has at least one token and its label.
  virtual void read_tokens(std::int64_t index, std::span<std::int32_t> tokens) const = 0;
  std::int64_t labels() const;  // in all windows; only the last window may have fewer than context()
  ImageShape shape() const final { return {context(), 1, 1}; }
  const TokenDataset* tokens() const final { return this; }
  std::int32_t label(std::int64_t index) const final;                         // throws Error(kInternal)
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const final;  // throws Error(kInternal)
};

// The training and test sets of one dataset. They are verified when they are opened, before training: sizes, magic
// numbers, counts and labels. `mean` and `deviation` are per channel, for pixels scaled to [0, 1]; empty for text.
struct DataSplit {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
  std::unique_ptr<Dataset> validation = nullptr;  // nullptr if no samples are held out
  std::vector<float> mean;
  std::vector<float> deviation;
  std::vector<std::string> class_names = {};  // names of labels 0, 1 and so on; empty if the set has none
  // Distinguishes the data from other data of the same size. A run that is resumed must find the same identity.
  std::string identity = {};
  // How data with another identity may differ, for a message: "the text has changed"; "": as images may.
  std::string differences = {};
  // A hash of the texts of all tokens; "" if the samples are images, or the vocabulary is not known.
  std::string vocabulary = {};
  std::int64_t test_bytes = 0;  // bytes of text in the test set; 0 if the samples are images, or this is not known
  std::string note = {};        // a line for the card: the origin of the test set; "" if there is nothing to say
  std::vector<std::string> warnings = {};
  int reading_threads = 1;  // threads that each loader reads with; more if reading a sample is slow (decoding files)
  // Not nullptr if a device holds the images too. Then their batches have no inputs (Batch::images).
  const DeviceImages* train_images = nullptr;
  const DeviceImages* test_images = nullptr;
  const DeviceImages* validation_images = nullptr;
};

// Moves this share of the training set to the validation set; `share` is above 0 and below 1. The number of samples is
// rounded to a whole one. Which samples are moved does not depend on the run's seed. For a text, whole windows are
// moved. Throws Error(kUsage) if either set would be empty.
void hold_out(DataSplit& split, double share);

// Replaces `identity` by a hash of the labels of all sets, the class names and the former `identity`. `open` may put
// other facts into `identity` before, such as file names; for a text, `open` must put a hash of its content there. All
// ranks and hosts with the same data get the same hash.
void hash_identity(DataSplit& split);

// A sample that cannot be used.
struct BadSample {
  std::string name;     // name of its file, relative to --data-dir
  std::string message;  // names the file's path and says what is wrong with it
};

// The result of SampleFiles::check.
struct SampleCheck {
  std::int64_t looked_at = 0;  // number of samples that were decoded
  std::vector<BadSample> bad;  // in the order of the set
};

// For a dataset that keeps each sample in a file of its own, so that single samples may be damaged.
struct SampleFiles {
  // Decodes every `parts`-th sample, beginning with number `part`, with as many threads as loaders have. Copies nothing
  // to --stage-to. Any of the threads calls `moved` after each sample. Throws as DatasetKind::open, but not because of
  // bad samples: it returns them.
  SampleCheck (*check)(const OptionValues& values, int part, int parts, const std::function<void()>& moved);
  // A text made of the names, sizes and change times of all files. If two calls return the same text, no file was
  // written between them.
  std::string (*fingerprint)(const OptionValues& values);
  // As DatasetKind::open, but without the given samples: the same set as if their files were removed.
  DataSplit (*open_without)(const OptionValues& values, const std::vector<BadSample>& left_out);
};

// A member of the dataset family: one file in src/data/sets and one word in src/data/CMakeLists.txt.
struct DatasetKind {
  std::string name;                 // as typed: "fashion-mnist"
  std::string summary;              // one line for --help
  std::vector<OptionSpec> options;  // datasets that read files share --data-dir
  // Throws Error(kInputMissing), which names the places searched and the package or files to get, or Error(kBadData),
  // which names file and offset.
  DataSplit (*open)(const OptionValues& values);
  const SampleFiles* files = nullptr;  // nullptr if `open` itself verifies all samples
  bool holds_text = false;             // whether the sets that `open` returns are TokenDatasets
};

const std::vector<DatasetKind>& dataset_kinds();

enum class Sampling { kShard, kWhole, kStratified };

// Assigns samples to ranks. Every rank has an equal Sampler and can ask it about any rank.
//   shard       Each epoch has one permutation, from (seed, epoch). Step t takes the next ranks × batch samples, and
//               rank i their i-th part. The last step of an epoch is cut into parts as equal as possible; some may be
//               empty.
//   stratified  As shard, but in every stretch of the permutation, and so in every part of every step, the number of
//               samples of each class is within two of the class's share.
//   whole       Every rank goes through the whole set in an order of its own, from (seed, pass, rank). It begins the
//               next pass when it has seen every sample (the EASGD paper's setting).
// An epoch is always size() samples, counted over all ranks, so epoch n means the same for every number of ranks. With
// shard and stratified, p ranks with batch n see in every step exactly the samples of one rank with batch p × n.
// Single samples are shuffled, not batches.
class Sampler {
 public:
  // `labels` has `size` entries for stratified, and is empty otherwise. A batch larger than the set means the whole
  // set. Throws Error(kConfiguration) if there are no samples, fewer samples than ranks, or the batch is below 1.
  Sampler(Sampling sampling, std::int64_t size, int ranks, std::int64_t batch_per_rank, std::uint64_t seed,
          std::vector<std::int32_t> labels);

  int ranks() const { return ranks_; }
  std::int64_t steps_per_epoch() const;
  // The number of samples that `rank` has in this step of any epoch. 0 if `rank` >= ranks().
  std::int64_t samples(std::int64_t step_in_epoch, int rank) const;
  std::int64_t samples_of_all_ranks(std::int64_t step_in_epoch) const;
  // Writes the dataset indices of one rank's batch; `indices` has samples(step_in_epoch, rank) entries. Not
  // thread-safe, because it keeps the current permutation (8 bytes per sample). A new permutation costs a shuffle of
  // the whole set.
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

// How often each class occurs in the samples on which `rank` trains in the given epoch. With `whole`, these are the
// samples that the rank draws during that epoch. Empty for text, whose samples have no class.
std::vector<std::int64_t> class_histogram(const Dataset& dataset, Sampler& sampler, std::int64_t epoch, int rank);
// Returns "" if a rank's class shares may be due to chance, otherwise one sentence that names the rank, the class, its
// share there and its global share. The criterion is a chi-square test at a level of 10^-9; the shares must also differ
// by enough to matter.
std::string describe_imbalance(const std::vector<std::int64_t>& of_rank, const std::vector<std::int64_t>& of_all,
                               int rank);

}  // namespace eave
