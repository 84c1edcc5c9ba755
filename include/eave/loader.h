// Turns the sampler's indices into batches, ahead of time, on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "eave/batch.h"
#include "eave/dataset.h"

namespace eave {

// Random changes to training images, keyed by (seed, step, dataset index): the same whatever the number of ranks.
struct Augmentation {
  int pad = 0;           // zero border added on each side before cropping
  int crop_height = 0;   // 0 = image height; random position in training, centre in evaluation
  int crop_width = 0;
  bool flip = false;     // left-right with probability ½, training only
  ImageShape output(ImageShape input) const;  // Error(kConfiguration) when the crop is larger than the padded image
};

// Prefetches `depth` batches. Owned by one thread, its consumer.
class Loader {
 public:
  struct Settings {
    Augmentation augmentation;
    std::uint64_t seed = 0;
    int rank = 0;
    std::int64_t first_step = 0;  // global step to begin with
    std::int64_t last_step = 0;   // one past the end
    int depth = 2;
  };
  // Training order. `split` and `sampler` outlive the loader; the loader's thread uses `sampler` alone from now on.
  Loader(const DataSplit& split, Sampler& sampler, const Settings& settings);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next step's batch, valid until the following call. Error thrown in the loading thread comes out here.
  const Batch& next();
  double seconds_waited() const;  // total time `next` blocked

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Evaluation order: this rank's contiguous part [first, last) of the dataset, in batches of at most `batch`, centre crop,
// no flip. Calls `consume` for each. Single-threaded, no randomness.
void for_each_evaluation_batch(const DataSplit& split, const Dataset& dataset, const Augmentation& augmentation,
                               std::int64_t first, std::int64_t last, std::int64_t batch,
                               const std::function<void(const Batch&)>& consume);

}  // namespace eave
