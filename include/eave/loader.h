// The loader: prepares batches from the sampler's indices, ahead of training, on threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "eave/batch.h"
#include "eave/compute.h"
#include "eave/dataset.h"

namespace eave {

// Random changes to training images. They are keyed by (seed, step, dataset index), so they do not depend on the number
// of ranks. The border is black: its pixels have the value 0 and are normalised like all others.
struct Augmentation {
  int pad = 0;          // border added on each side before cropping
  int crop_height = 0;  // 0 = image height. The crop is at a random place in training, in the centre in evaluation
  int crop_width = 0;   // 0 = image width
  bool flip = false;    // mirrors left to right with probability ½, in training only
  // The shape after cropping. Throws Error(kConfiguration) if a number is negative or the crop is larger than the
  // padded image.
  ImageShape output(ImageShape input) const;
};

// Copies `dataset`, one of the split's sets, to a device by Compute::load_images. Its batches then have the same values
// as those of the loaders below. If `random`, images are cropped and mirrored as in training, by `seed`; otherwise as
// in evaluation. Returns nullptr if the images stay in host memory, and for text.
std::unique_ptr<DeviceImages> load_images(Compute& compute, const DataSplit& split, const Dataset& dataset,
                                          const Augmentation& augmentation, bool random, std::uint64_t seed);

// Prefetches `depth` batches. The split's reading_threads share the samples of each batch; the bits do not depend on
// the number of threads. Only one thread, the consumer, may use a Loader. Memory: depth + 1 batches of floats, and one
// image per thread. After construction nothing is allocated except the sampler's permutation and what the dataset needs
// for reading.
class Loader {
 public:
  struct Settings {
    Augmentation augmentation;
    std::uint64_t seed = 0;
    int rank = 0;
    std::int64_t first_step = 0;  // step of the first batch, counted over the whole run
    std::int64_t last_step = 0;   // one past the step of the last batch
    int depth = 2;                // at least 1
  };
  // Batches come in training order. `split` and `sampler` must outlive the loader. From now on only the loader's thread
  // may use `sampler`.
  Loader(const DataSplit& split, Sampler& sampler, const Settings& settings);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The batch of the next step, valid until the following call. If the loading thread failed at this batch, throws that
  // thread's exception. Must not be called more than last_step − first_step times.
  const Batch& next();
  double seconds_waited() const;  // total seconds for which `next` blocked

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Calls `consume` on each batch of samples [first, last) of the dataset, in their order, with at most `batch` samples
// per batch. Images are cropped in the centre and not mirrored; nothing is random. `consume` runs on the calling
// thread; the split's reading_threads read.
void for_each_evaluation_batch(const DataSplit& split, const Dataset& dataset, const Augmentation& augmentation,
                               std::int64_t first, std::int64_t last, std::int64_t batch,
                               const std::function<void(const Batch&)>& consume);

}  // namespace eave
