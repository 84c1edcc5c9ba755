// Makes plans of functions, so that an operation of one or two kernels needs no class.
#pragma once

#include <cstdint>
#include <memory>

#include "device/kernel_arguments.h"

namespace eave {

struct PlanSizes {
  std::int64_t saved = 0, scratch = 0;  // floats
};

template <class Forward, class Function, class Plan = ForwardPlan<Forward>>
class FunctionPlan : public Plan {
 public:
  FunctionPlan(const Function& forward, PlanSizes sizes) : forward_(forward), sizes_(sizes) {}
  std::int64_t saved_size() const override { return sizes_.saved; }
  std::int64_t scratch_size() const override { return sizes_.scratch; }
  void forward(const Forward& call) override { forward_(call); }

 private:
  Function forward_;
  const PlanSizes sizes_;
};

template <class Forward, class Backward, class Function, class BackwardFunction>
class GradientFunctionPlan final : public FunctionPlan<Forward, Function, GradientPlan<Forward, Backward>> {
 public:
  GradientFunctionPlan(const Function& forward, const BackwardFunction& backward, PlanSizes sizes)
      : FunctionPlan<Forward, Function, GradientPlan<Forward, Backward>>(forward, sizes), backward_(backward) {}
  void backward(const Backward& call) override { backward_(call); }

 private:
  BackwardFunction backward_;
};

template <class Forward, class Function>
std::unique_ptr<ForwardPlan<Forward>> make_plan_of(const Function& forward, PlanSizes sizes = {}) {
  return std::make_unique<FunctionPlan<Forward, Function>>(forward, sizes);
}
template <class Forward, class Backward, class Function, class BackwardFunction>
std::unique_ptr<GradientPlan<Forward, Backward>> make_plan_of(const Function& forward, const BackwardFunction& backward,
                                                              PlanSizes sizes = {}) {
  return std::make_unique<GradientFunctionPlan<Forward, Backward, Function, BackwardFunction>>(forward, backward,
                                                                                               sizes);
}

// The arguments of UnaryForward and UnaryBackward as kernels take them. T is the type of activations, `count` the
// number of those that the call writes.
template <class T>
struct ForwardArrays {
  const T* input;
  T* output;
  std::uint8_t* saved;
  std::int64_t count;
};
template <class T>
struct BackwardArrays {
  const T *input, *output;
  const std::uint8_t* saved;
  const T* d_output;
  T* d_input;
  std::int64_t count;
};

// A unary plan of a function that takes ForwardArrays<T>, and of one that takes BackwardArrays<T>.
template <class T, class Function, class BackwardFunction>
std::unique_ptr<UnaryPlan> make_kernel_plan(const Function& forward, const BackwardFunction& backward,
                                            std::int64_t saved_size = 0) {
  const auto count = [](ConstSlice values) { return static_cast<std::int64_t>(values.size_bytes() / sizeof(T)); };
  return make_plan_of<UnaryForward, UnaryBackward>(
      [=](const UnaryForward& call) {
        forward(ForwardArrays<T>{array<T>(call.input), array<T>(call.output), array<std::uint8_t>(call.saved),
                                 count(call.output)});
      },
      [=](const UnaryBackward& call) {
        backward(BackwardArrays<T>{array<T>(call.input), array<T>(call.output), array<std::uint8_t>(call.saved),
                                   array<T>(call.d_output), array<T>(call.d_input), count(call.d_input)});
      },
      {saved_size});
}

}  // namespace eave
