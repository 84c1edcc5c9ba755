// Turns the sampler's indices into batches, ahead of time, on threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "eave/batch.h"
#include "eave/compute.h"
#include "eave/dataset.h"

namespace eave {

// Random changes to training images, keyed by (seed, step, dataset index): the same whatever the number of ranks.
// The border is black: pixels of value 0, normalised as all others.
struct Augmentation {
  int pad = 0;          // border added on each side before cropping
  int crop_height = 0;  // 0 = image height; random position in training, centre in evaluation
  int crop_width = 0;
  bool flip = false;  // left-right with probability ½, training only
  // Throws Error(kConfiguration) when a number is negative or the crop is larger than the padded image.
  ImageShape output(ImageShape input) const;
};

// One of the split's sets, as Compute::load_images brings it to a device; its batches are then as those of the loaders
// below. `random`: placed as in training, by `seed`, else as in evaluation. nullptr: it stays where it is.
std::unique_ptr<DeviceImages> load_images(Compute& compute, const DataSplit& split, const Dataset& dataset,
                                          const Augmentation& augmentation, bool random, std::uint64_t seed);

// Prefetches `depth` batches; the samples of each are shared among the split's reading_threads, with the same bits for
// any number of them. Owned by one thread, its consumer. Memory: depth + 1 batches of floats and an image for each
// thread; nothing is allocated after construction but the sampler's permutation and what the dataset needs to read.
class Loader {
 public:
  struct Settings {
    Augmentation augmentation;
    std::uint64_t seed = 0;
    int rank = 0;
    std::int64_t first_step = 0;  // global step to begin with
    std::int64_t last_step = 0;   // one past the end
    int depth = 2;                // at least 1
  };
  // Training order. `split` and `sampler` outlive the loader; the loader's thread uses `sampler` alone from now on.
  Loader(const DataSplit& split, Sampler& sampler, const Settings& settings);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next step's batch, valid until the following call. An exception of the loading thread comes out here, in the
  // place of the batch that it spoiled. Must not be called more than last_step − first_step times.
  const Batch& next();
  double seconds_waited() const;  // total time `next` blocked

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Evaluation order: this rank's contiguous part [first, last) of the dataset, in batches of at most `batch`, centre
// crop, no flip. Calls `consume` for each, in the calling thread; the split's reading_threads read. No randomness.
void for_each_evaluation_batch(const DataSplit& split, const Dataset& dataset, const Augmentation& augmentation,
                               std::int64_t first, std::int64_t last, std::int64_t batch,
                               const std::function<void(const Batch&)>& consume);

}  // namespace eave
