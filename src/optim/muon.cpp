// Muon (Jordan et al. 2024) for hidden matrices: momentum, made nearly orthogonal by Newton-Schulz (newton_schulz.h).
//     v <- mu v + g;  O = orthogonalised(g + mu v);  x <- x - eta (0.2 sqrt(max(rows, columns)) O + wd x)
// The factor is that of Liu et al. 2025 (arXiv:2502.16982, section 2.2): the steps are as large as AdamW's, so all
// parameters have one learning rate and one weight decay. Embeddings, the output matrix, and tensors with one dimension
// follow AdamW. A convolution's kernel is a matrix of height · width · inputs rows and a column for each output. If a
// tensor holds several matrices side by side (TensorInfo::parts: queries, keys and values; a gate and its values), each
// is made orthogonal by itself, with the factor of its own size. As one matrix, those with small gradients would hardly
// move.
//
// If an element of a tensor's gradient is not finite, all its matrices keep their values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/device.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"
#include "optim/common_settings.h"
#include "optim/newton_schulz.h"

namespace eave {
namespace {

// A tensor of hidden matrices, which lie side by side.
struct HiddenMatrices {
  std::size_t begin = 0, size = 0;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> parts;  // columns of each matrix
};

bool is_embedding(const TensorInfo& tensor) { return tensor.name.starts_with("embed"); }

std::vector<HiddenMatrices> hidden_matrices(const std::vector<TensorInfo>& tensors) {
  std::vector<HiddenMatrices> all;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.shape.size() < 2 || is_embedding(tensor) || tensor.is_output) continue;
    const std::int64_t columns = tensor.shape.back();
    all.push_back({static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.size),
                   tensor.size / columns, columns, tensor.parts});
    if (tensor.parts.empty()) all.back().parts = {columns};
  }
  return all;
}

NewtonSchulz make_iteration(Device& device, const std::vector<HiddenMatrices>& all) {
  std::int64_t size = 0, side = 0;
  for (const HiddenMatrices& each : all) {
    for (const std::int64_t columns : each.parts) {
      size = std::max(size, each.rows * columns);
      side = std::max(side, std::min(each.rows, columns));
    }
  }
  return {device, size, side * side};
}

// The size of the largest matrix that shares its tensor.
std::size_t largest_part(const std::vector<HiddenMatrices>& all) {
  std::int64_t most = 0;
  for (const HiddenMatrices& each : all) {
    if (each.parts.size() > 1) most = std::max(most, each.rows * std::ranges::max(each.parts));
  }
  return static_cast<std::size_t>(most);
}

using Answers = std::vector<std::shared_ptr<DeviceAnswer>>;

// Whether all parts of the arena took their steps.
class AllParts final : public DeviceAnswer {
 public:
  explicit AllParts(Answers parts) : parts_(std::move(parts)) {}
  bool get() override {
    return std::ranges::all_of(parts_, [](const std::shared_ptr<DeviceAnswer>& part) { return part->get(); });
  }

 private:
  Answers parts_;
};

class Muon final : public Optimizer {
 public:
  explicit Muon(const OptimizerContext& context)
      : adam_(read_adam_settings(context.values, "muon")),
        momentum_(real_in(context.values, "muon-momentum", 0, 1)),
        decay_(context),
        device_(context.device),
        matrices_(hidden_matrices(context.tensors)),
        iteration_(make_iteration(device_, matrices_)),
        first_(device_.allocate(static_cast<std::size_t>(context.arena_size))),
        second_(device_.allocate(static_cast<std::size_t>(context.arena_size))),
        direction_(device_.allocate(largest(matrices_))),
        part_(device_.allocate(largest_part(matrices_))) {
    for (const HiddenMatrices& each : matrices_) {
      count_ += each.parts.size();
      parameters_ += each.size;
    }
    if (!matrices_.empty() || context.warnings == nullptr) return;
    context.warnings->push_back(
        "--optimizer muon: the model has no hidden matrices, so --optimizer adamw would train it in the same way");
  }

  std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                       const std::optional<Pull>& pull, float clip) override {
    const AdamwStep step = adam_step(adam_, ++steps_, learning_rate, decay_.factor(), clip);
    const bool are_finite = std::isfinite(clip) && device_.all_finite(gradients)->get();
    Answers answers;
    std::size_t done = 0;
    const auto follow_adam = [&](std::size_t end) {
      if (end == done) return;
      const Part part{done, end - done};
      answers.push_back(device_.update_adamw(part.of(parameters), part.of(gradients), part.of(first_.slice()),
                                             part.of(second_.slice()), step, part.of(pull), part.shares(decay_)));
    };
    for (const HiddenMatrices& each : matrices_) {
      follow_adam(each.begin);
      const bool is_finite =
          are_finite || (std::isfinite(clip) && device_.all_finite(gradients.subspan(each.begin, each.size))->get());
      find_direction(each, gradients, clip, is_finite);
      answers.push_back(step_matrices(each, parameters, learning_rate, pull));
      done = std::min((each.begin + each.size + kDecayBlock - 1) / kDecayBlock * kDecayBlock, parameters.size());
    }
    follow_adam(parameters.size());
    return std::make_shared<AllParts>(std::move(answers));
  }

  std::vector<Slice> state() override { return {first_.slice(), second_.slice()}; }
  std::int64_t* update_count() override { return &steps_; }

  std::string equation() const override {
    const std::string mu = number_text(momentum_);
    const std::string decay = decay_.factor() > 0 ? " + " + number_text(decay_.factor()) + " x" : "";
    return "muon: of hidden matrices, " + std::to_string(count_) + " with " +
           count_text(static_cast<std::int64_t>(parameters_), "parameter") + ": v <- " + mu + " v + g; O = (g + " + mu +
           " v) made orthogonal by " + std::to_string(NewtonSchulz::kIterations) +
           " Newton-Schulz iterations; x <- x - lr (0.2 sqrt(max(rows, columns)) O" + decay +
           "); the others, adamw: " + describe_adam(adam_, decay_.factor()) + decay_.describe();
  }

 private:
  // A part of the arena, which begins at a block of the weight decay.
  struct Part {
    std::size_t begin, size;
    mutable Pull own = {};

    Slice of(Slice values) const { return values.subspan(begin, size); }
    ConstSlice of(ConstSlice values) const { return values.subspan(begin, size); }
    const Pull* of(const std::optional<Pull>& pull) const {
      if (!pull) return nullptr;
      own = {of(pull->center), pull->alpha, of(pull->difference), pull->center_is_behind};
      return &own;
    }
    ConstSlice shares(const WeightDecay& decay) const {
      if (decay.shares().empty()) return {};
      return decay.shares().subspan(begin / kDecayBlock, (size + kDecayBlock - 1) / kDecayBlock);
    }
  };

  static std::size_t largest(const std::vector<HiddenMatrices>& matrices) {
    std::size_t most = 0;
    for (const HiddenMatrices& each : matrices) most = std::max(most, each.size);
    return most;
  }

  Slice direction_of(const HiddenMatrices& matrices) { return direction_.slice().first(matrices.size); }

  // Moves the velocity of the tensor's matrices, and makes their directions orthogonal. Without a finite gradient the
  // velocity stays, and the direction is NaN, so that no element takes its step.
  void find_direction(const HiddenMatrices& matrices, ConstSlice gradients, float clip, bool is_finite) {
    const Slice direction = direction_of(matrices);
    if (!is_finite) {
      device_.fill(direction, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const Part part{matrices.begin, matrices.size};
    const Slice velocity = part.of(first_.slice());
    const ConstSlice gradient = part.of(gradients);
    const auto mu = static_cast<float>(momentum_);
    device_.scale(velocity, mu);
    device_.add_scaled(velocity, clip, gradient);
    device_.fill(direction, 0);
    device_.add_scaled(direction, clip, gradient);
    device_.add_scaled(direction, mu, velocity);
    make_orthogonal(matrices);
  }

  void make_orthogonal(const HiddenMatrices& matrices) {
    const std::int64_t rows = matrices.rows, all = matrices.columns;
    if (matrices.parts.size() == 1) return make_orthogonal(rows, all, direction_of(matrices));
    Slice rest = direction_of(matrices);  // from the first column of the part on
    for (const std::int64_t columns : matrices.parts) {
      const Slice part = part_.slice().first(static_cast<std::size_t>(rows * columns));
      device_.copy_rows({rows, columns, columns, all}, part, rest);
      make_orthogonal(rows, columns, part);
      device_.copy_rows({rows, columns, all, columns}, rest, part);
      rest = rest.subspan(static_cast<std::size_t>(columns));
    }
  }
  void make_orthogonal(std::int64_t rows, std::int64_t columns, Slice matrix) {
    iteration_.orthogonalise(rows, columns, matrix);
    device_.scale(matrix, static_cast<float>(0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)))));
  }

  std::shared_ptr<DeviceAnswer> step_matrices(const HiddenMatrices& matrices, Slice parameters, double learning_rate,
                                              const std::optional<Pull>& pull) {
    const Part part{matrices.begin, matrices.size};
    const SgdStep step{.step_scale = static_cast<float>(learning_rate),
                       .weight_decay = static_cast<float>(decay_.factor())};
    return device_.update_sgd(part.of(parameters), direction_of(matrices), {}, step, part.of(pull),
                              part.shares(decay_));
  }

  AdamSettings adam_;
  double momentum_;
  WeightDecay decay_;
  Device& device_;
  std::vector<HiddenMatrices> matrices_;
  NewtonSchulz iteration_;
  Buffer first_, second_;
  Buffer direction_;  // of one tensor
  Buffer part_;       // one matrix of several in a tensor
  std::size_t count_ = 0, parameters_ = 0;
  std::int64_t steps_ = 0;
};

std::unique_ptr<Optimizer> make_muon(const OptimizerContext& context) { return std::make_unique<Muon>(context); }

}  // namespace

OptimizerKind describe_optimizer_muon() {
  std::vector<OptionSpec> options = {
      {"muon-momentum", OptionType::kReal, "0.95", "share of a matrix's velocity that a step keeps"}};
  for (const OptionSpec& option : adam_options()) options.push_back(option);
  options.push_back(weight_decay_option());
  options.push_back(weight_decay_of_option());
  return {
      "muon",
      "orthogonal steps for hidden matrices (queries, keys, values and gates each by themselves), AdamW for the others",
      options, make_muon};
}

}  // namespace eave
