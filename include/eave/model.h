// A model: layers, their parameters in one flat arena, and the arithmetic of a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eave/batch.h"
#include "eave/compute.h"
#include "eave/slice.h"

namespace eave {

// One named parameter (or statistic) inside the flat arena, dense and row-major in the order of `shape`.
// Convolution weights are [height, width, in_channels, out_channels]; dense weights [in, out]; every tensor begins at a
// multiple of 16 floats, and the padding between tensors is and stays zero.
struct TensorInfo {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // in floats
  std::int64_t size = 0;    // in floats, without padding
};

// Summed over the samples of one call: divide by `samples` after summing over ranks.
struct Score {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;
};

// The text specification of a named model (model_names()), or `name_or_text` itself when it is already one ("conv2d 32
// 5x5; relu; max_pool 2; dense 10"). Throws Error(kUsage) that lists names and layers.
std::string model_specification(const std::string& name_or_text);
std::vector<std::string> model_names();
// The side of the square crop that a named model is made for; 0: it takes images of any size.
int model_crop(const std::string& name_or_text);

// Planned for one input shape and one largest batch, on one device. Owns activations and workspaces, never parameters:
// those are passed in, so the center, the mean and a worker are evaluated without touching each other.
// Not thread-safe; one Model per replica. After the first step of a batch size, a step of that size allocates nothing.
class Model {
 public:
  // Throws Error(kUsage) when the text cannot be read, Error(kConfiguration) when the layers do not fit the images or
  // the last layer does not give `classes` outputs, Error(kResource) when memory for a training step of `largest_batch`
  // samples cannot be had. `compute` outlives the model.
  Model(const std::string& specification, ImageShape input, int classes, std::int64_t largest_batch, Compute& compute);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  const std::vector<TensorInfo>& parameters() const;
  const std::vector<TensorInfo>& statistics() const;  // batch norm: "bn1.mean", "bn1.variance" in pairs
  std::int64_t parameter_size() const;                // floats in the arena, padding included
  std::int64_t statistics_size() const;
  std::int64_t least_norm_positions() const;  // pixels of the smallest image that batch norm sees; 0: no batch norm
  std::int64_t activation_bytes() const;      // what this Model holds beside parameters
  std::string summary() const;                // a table: layer, output shape, parameters

  // Fills both arenas, in the host's memory, from the seed alone: the same on every rank. Weights: normal, variance 1 /
  // fan_in; biases 0.
  void initialise(std::uint64_t seed, Slice parameters, Slice statistics) const;

  // Forward, loss and backward of one step. Afterwards gradients = weight × ∂(mean loss over the batch)/∂parameters.
  // With batch.samples == 0 gradients are zero. `ready` is called on slices of `gradients` as they become final: every
  // element once, from the end of the arena to its beginning; it may be empty. `statistics` moves by its running
  // average. `seed` keys dropout, with batch.step and batch.indices. Loss: mean softmax cross-entropy; it is had by
  // score() with what is returned. All takes place in the queue of the compute's device, in whose memory the slices
  // lie.
  std::int64_t train(const Batch& batch, std::uint64_t seed, ConstSlice parameters, Slice statistics, Slice gradients,
                     float weight, const std::function<void(Slice)>& ready);
  // From now on, where a step's loss is known after forward and not finite (on the CPU; a GPU computes behind the
  // host), the batch counts as one without samples: gradients are zero, and all of them `ready`.
  void leave_out_nonfinite_batches();
  // From now on train() normalises over the batches of all ranks together, also where this one has no samples: all of
  // them train the same steps. d_scale and d_shift, as all gradients, are of this rank's samples. `ranks` is lent for
  // as long as train() is called. CPU only. Ioffe and Szegedy 2015, of moments merged by Chan, Golub, LeVeque 1979.
  void normalise_over(MomentExchange& ranks);
  // The score of one of the last two steps, which was of `samples` samples. Blocks until it is known.
  Score score(std::int64_t samples, std::int64_t ticket);

  // Forward only, in evaluation mode (no dropout, running statistics). Changes none of its arguments. Any batch size;
  // memory grows where a larger one than in training needs it.
  Score evaluate(const Batch& batch, ConstSlice parameters, ConstSlice statistics);

  // `statistics` lie in pairs of mean and variance, one for each batch norm: how many rows each takes its moments of
  // per sample (height times width).
  std::vector<std::int64_t> rows_per_sample() const;
  // Forward only, as in evaluation but for batch norm: it normalises by this batch's own mean and variance, which
  // `statistics` is set to; the variance is the biased one (rows_per_sample() tells by how much). At least one sample,
  // at most largest_batch.
  void measure_statistics(const Batch& batch, ConstSlice parameters, Slice statistics);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
