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

// Sums over the labels of one call, which are one per image and one per token of text. For a mean, sum over ranks first
// and then divide by `samples`.
struct Score {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;  // labels other than kNoLabel
};

// Returns the text specification of a named model (model_names()), or `name_or_text` itself if it is a specification,
// such as "conv2d 32 5x5; relu; max_pool 2; dense 10". Otherwise throws Error(kUsage), which lists names and layers.
std::string model_specification(const std::string& name_or_text);
std::vector<std::string> model_names();
// The side of the square crop that a named model is made for, in pixels; 0 if it takes images of any size.
int model_crop(const std::string& name_or_text);

// A model, planned for one input shape and one largest batch, on one device. It owns activations and workspaces, but no
// parameters: the caller passes them in, so the center, the mean and a worker can be evaluated side by side.
// Not thread-safe; each replica has one Model. The first step of each batch size allocates memory; later steps of that
// size allocate none.
class Model {
 public:
  // `compute` must outlive the model. Throws
  //     Error(kUsage)          if the specification cannot be parsed,
  //     Error(kConfiguration)  if the layers do not fit the images or the last layer does not have `classes` outputs,
  //     Error(kResource)       if there is not enough memory for a training step of `largest_batch` samples.
  // `label_smoothing`, in [0, 1): in training, the share of each label that is spread evenly over all classes (Szegedy
  // et al. 2016, section 7; PyTorch's CrossEntropyLoss(label_smoothing)).
  Model(const std::string& specification, ImageShape input, int classes, std::int64_t largest_batch, Compute& compute,
        float label_smoothing = 0);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  const std::vector<TensorInfo>& parameters() const;
  const std::vector<TensorInfo>& statistics() const;  // batch norm: "bn1.mean", "bn1.variance" in pairs
  std::int64_t parameter_size() const;                // floats in the arena, padding included
  std::int64_t statistics_size() const;
  std::int64_t targets() const;               // labels per sample: 1, or the positions of a window of tokens
  std::int64_t least_norm_positions() const;  // pixels of the smallest image that batch norm gets; 0: no batch norm
  std::int64_t activation_bytes() const;      // bytes that this Model holds; the parameters are not included
  std::string summary() const;                // a table: layer, output shape, parameters

  // Fills both arenas, in host memory, with values that depend only on the seed, so they are equal on all ranks.
  // Weights are normal with variance 1 / fan_in, or with the deviation that the layer's text gives (`embedding`,
  // `linear`). Biases are 0.
  void initialise(std::uint64_t seed, Slice parameters, Slice statistics) const;

  // Runs forward, loss and backward of one step. Afterwards gradients = weight × ∂(mean loss over the
  // batch)/∂parameters, or zero if batch.samples == 0. The loss is the softmax cross-entropy. Its mean divides by
  // samples × targets, and counts targets whose label is kNoLabel too. So the weighted sum over ranks does not depend
  // on which rank has them. The running averages in `statistics` are updated. `seed`, batch.step and
  // batch.indices key dropout. If `ready` is not empty, it is called on slices of `gradients` as they become final. It
  // gets every element once, from the end of the arena to its beginning. Returns the ticket with which score() gives
  // the loss. All slices lie in the memory of the compute's device, and all work takes place in its queue.
  std::int64_t train(const Batch& batch, std::uint64_t seed, ConstSlice parameters, Slice statistics, Slice gradients,
                     float weight, const std::function<void(Slice)>& ready);
  // From now on, if the loss of a step is not finite, all gradients are NaN, and `ready` is called for all of them. So
  // a sum over ranks is NaN too, and all ranks leave the step out. On the CPU train() skips backward. A GPU computes
  // asynchronously, so it replaces the gradients after backward, and the host does not wait for the loss.
  void leave_out_nonfinite_batches();
  // From now on train() normalises over the batches of all ranks together, also if this rank has no samples. All ranks
  // must then train the same steps. d_scale and d_shift, like all gradients, come from this rank's samples alone.
  // `ranks` must live as long as train() is called. CPU only. Ioffe and Szegedy 2015; moments are merged as in Chan,
  // Golub, LeVeque 1979.
  void normalise_over(MomentExchange& ranks);
  // The score of the step with this ticket; `samples` is the size of its batch in samples. Blocks until the score is
  // known. The step must be among the last kKeptLosses passes of the Compute, evaluations included.
  Score score(std::int64_t samples, std::int64_t ticket);

  // Runs forward only, in evaluation mode (no dropout, running statistics). Changes none of its arguments. The batch
  // may have any size; if it is larger than in training, more memory is allocated.
  Score evaluate(const Batch& batch, ConstSlice parameters, ConstSlice statistics);

  // One entry per pair of mean and variance in `statistics`, thus per batch norm: the rows per sample (height times
  // width) from which that batch norm takes its moments.
  std::vector<std::int64_t> rows_per_sample() const;
  // Runs forward as in evaluation, except that batch norm normalises by this batch's own mean and variance. Writes them
  // to `statistics`. The variance is the biased one; rows_per_sample() tells how to correct it. The batch has from 1 to
  // largest_batch samples.
  void measure_statistics(const Batch& batch, ConstSlice parameters, Slice statistics);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
