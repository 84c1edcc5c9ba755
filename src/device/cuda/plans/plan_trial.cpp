#include "device/cuda/plans/plan_trial.h"

#include <algorithm>

#include "device/cuda/workspace_layout.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

std::int64_t bytes_of_value(bool half) { return half ? 2 : 4; }

template <class Plan>
std::int64_t most_workspace(const std::vector<Plan>& plans) {
  std::int64_t most = 0;
  for (const Plan& plan : plans) most = std::max(most, plan.workspace_bytes());
  return most;
}

// Offsets of a trial's pieces, in bytes.
struct TrialLayout {
  TrialLayout(const ConvolutionOperation& o, std::int64_t workspace_bytes) : value(bytes_of_value(o.half)) {
    weights = layout.add(o.filter_values() * value);
    bias = layout.add(o.output[2] * value);
    input = layout.add(input_bytes = o.input_values() * value);
    output = layout.add(o.output_values() * value);
    workspace = layout.add(workspace_bytes);
  }
  TrialLayout(const Product& p, std::int64_t workspace_bytes) : value(bytes_of_value(p.half_result)) {
    weights = layout.add(p.columns_a() * p.stride_a * bytes_of_value(p.half));
    bias = layout.add(p.m * bytes_of_value(p.half));
    input = layout.add(input_bytes = p.columns_b() * p.stride_b * bytes_of_value(p.half));
    output = layout.add(p.n * p.stride_d * value);
    workspace = layout.add(workspace_bytes);
  }

  WorkspaceLayout layout;
  std::int64_t value;  // bytes of one value of the output
  std::int64_t input_bytes = 0;
  std::int64_t weights = 0, bias = 0, input = 0, output = 0, workspace = 0;
};

class Trial {
 public:
  Trial(const Context& context, const TrialLayout& places)
      : context_(context), places_(places), memory_(places.layout.floats() * 4, context.stream) {}
  // Waits, so that nothing runs when the memory is freed.
  ~Trial() { static_cast<void>(cudaStreamSynchronize(context_.stream)); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void run(cudnnHandle_t handle, const CudnnPlan& plan) const {
    std::vector<NamedAddress> tensors = {{kInput, at(places_.input)}, {kFilter, at(places_.weights)}};
    tensors.push_back({kOutput, at(places_.output)});
    if (plan.operation().bias) tensors.push_back({kBias, at(places_.bias)});
    plan.run(handle, tensors, at(places_.workspace));
  }
  void run(cublasLtHandle_t handle, const ProductPlan& plan) const {
    plan.run(handle, context_.stream,
             {at(places_.weights), at(places_.input), at(places_.bias), at(places_.output), at(places_.workspace)});
  }

  void fill_input_with_nan() const {
    EAVE_CUDA(cudaMemsetAsync(at(places_.input), 0xff, static_cast<std::size_t>(places_.input_bytes), context_.stream));
  }
  // Whether all of `count` values of the output, from index `begin` on, are NaN.
  bool has_nan_throughout(std::int64_t begin, std::int64_t count) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * places_.value));
    EAVE_CUDA(cudaMemcpyAsync(bytes.data(), at(places_.output + begin * places_.value), bytes.size(),
                              cudaMemcpyDeviceToHost, context_.stream));
    EAVE_CUDA(cudaStreamSynchronize(context_.stream));
    // The upper half of a float32 is a bfloat16, and shows NaN as well.
    const std::size_t value = static_cast<std::size_t>(places_.value);
    for (std::size_t end = value; end <= bytes.size(); end += value) {
      const auto upper = std::to_integer<unsigned>(bytes[end - 1]) << 8 | std::to_integer<unsigned>(bytes[end - 2]);
      if ((upper & 0x7fff) <= 0x7f80) return false;
    }
    return true;
  }

 private:
  void* at(std::int64_t offset) const { return memory_.at(offset); }

  const Context& context_;
  const TrialLayout places_;
  TemporaryMemory memory_;
};

template <class Plan, class Handle, class What>
Fastest find_fastest_of(const Context& context, Handle handle, const std::vector<Plan>& plans, const What& what,
                        const std::function<bool()>& is_spent) {
  if (plans.size() == 1) return {};
  try {
    const Trial trial(context, TrialLayout(what, most_workspace(plans)));
    StreamTimer timer(context.stream, [&](std::size_t i) { trial.run(handle, plans[i]); });
    return find_fastest(plans.size(), timer, is_spent);
  } catch (const Error&) {
    static_cast<void>(cudaGetLastError());  // too little memory, or the device is lost, which the next call reports
    return {.candidate = 0, .timed = 0, .is_whole = false};
  }
}

template <class Plan, class Handle, class What>
bool passes_nan_at(const Context& context, Handle handle, const Plan& plan, const What& what, std::int64_t begin,
                   std::int64_t count) {
  bool has_memory = false;
  try {
    const Trial trial(context, TrialLayout(what, plan.workspace_bytes()));
    has_memory = true;
    trial.fill_input_with_nan();
    trial.run(handle, plan);
    return trial.has_nan_throughout(begin, count);
  } catch (const Error&) {
    // With another plan, the bits would depend on the memory that was free.
    if (context.deterministic && !has_memory) throw;
    // A refused plan is no failure. If the device is lost, the next call reports it.
    static_cast<void>(cudaGetLastError());
    return false;
  }
}

}  // namespace

Fastest find_fastest_plan(const Context& context, cudnnHandle_t handle, const std::vector<CudnnPlan>& plans,
                          const std::function<bool()>& is_spent) {
  return find_fastest_of(context, handle, plans, plans.front().operation(), is_spent);
}

Fastest find_fastest_plan(const Context& context, cublasLtHandle_t handle, const std::vector<ProductPlan>& plans,
                          const std::function<bool()>& is_spent) {
  return find_fastest_of(context, handle, plans, plans.front().product(), is_spent);
}

// Looks at all channels of the middle pixel of the last image: its window lies on the image, whatever the padding.
bool passes_nan(const Context& context, cudnnHandle_t handle, const CudnnPlan& plan) {
  const ConvolutionOperation& o = plan.operation();
  const std::int64_t image = (o.samples - 1) * o.output[0] * o.output[1];
  const std::int64_t pixel = image + o.output[0] / 2 * o.output[1] + o.output[1] / 2;
  return passes_nan_at(context, handle, plan, o, pixel * o.output[2], o.output[2]);
}

bool passes_nan(const Context& context, cublasLtHandle_t handle, const ProductPlan& plan) {
  const Product& p = plan.product();
  return passes_nan_at(context, handle, plan, p, (p.n - 1) * p.stride_d, p.m);
}

}  // namespace eave::cuda
