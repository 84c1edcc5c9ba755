// Dense layers and convolutions on a GPU, or its emulator, give what the CPU gives. Values are small integers, so
// products and sums are exact in any order and precision, also in bfloat16. All comparisons use ==.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "../cuda_kernels/numbers.h"
#include "../cuda_kernels/on_device.h"
#include "device/cuda/plans/plans.h"
#include "eave/random.h"

namespace eave::cuda {
namespace {

using Values = std::vector<float>;

// −1, 0 or 1.
Values signs(std::int64_t count, std::uint32_t part) {
  RandomStream random({23, Purpose::kTest, part}, 0);
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random.below(3)) - 1);
  return values;
}

struct Problem {
  std::int64_t inputs = 0, weights = 0, bias = 0, outputs = 0;  // values
  bool training = true;
  Values input, weight, bias_values, d_output;
  void fill() {
    input = signs(inputs, 1);
    weight = signs(weights, 2);
    bias_values = signs(bias, 3);
    d_output = signs(outputs, 4);
  }
};

struct Results {
  Values output, d_input, d_weights, d_bias;
};

void expect_same(const Results& got, const Results& expected) {
  EXPECT_EQ(got.output, expected.output);
  EXPECT_EQ(got.d_weights, expected.d_weights);
  EXPECT_EQ(got.d_bias, expected.d_bias);
  EXPECT_EQ(got.d_input, expected.d_input);
}

Results run_on_cpu(LinearPlan& plan, const Problem& p) {
  Values saved(p.training ? static_cast<std::size_t>(plan.saved_size()) : 0);
  Values scratch(static_cast<std::size_t>(plan.scratch_size())), d_output = p.d_output;
  Results r;
  r.output.resize(static_cast<std::size_t>(p.outputs));
  plan.forward({p.input, p.weight, p.bias_values, r.output, saved, scratch});
  if (!p.training) return r;
  r.d_input.resize(p.input.size());
  r.d_weights.resize(p.weight.size());
  r.d_bias.resize(p.bias_values.size());
  plan.backward({p.input, p.weight, r.output, saved, d_output, r.d_input, r.d_weights, r.d_bias, scratch});
  return r;
}

// Activations of type T in memory that the interface passes as floats.
template <class T>
class Activations {
 public:
  Activations(const TestStream& stream, const Values& values)
      : values_(stream, as<T>(padded(values))), size_(values.size()) {}
  Activations(const TestStream& stream, std::size_t size) : Activations(stream, Values(size, 99)) {}
  Slice slice() {
    return size_ == 0 ? Slice() : Slice(reinterpret_cast<float*>(values_.data()), values_.size() * sizeof(T) / 4);
  }
  Values read() {
    Values all = to_floats(values_.read());
    all.resize(size_);
    return all;
  }

 private:
  static Values padded(Values values) {
    values.resize((values.size() + 1) / 2 * 2);
    return values;
  }
  OnDevice<T> values_;
  std::size_t size_;
};

struct Setting {
  const char* name;
  Precision precision;
  bool deterministic = false, autotune = false, recorded = false;
  friend std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.name; }
};

template <class T>
class GpuRun {
 public:
  GpuRun(const TestStream& stream, Context& context, const Problem& p)
      : stream_(stream),
        problem_(p),
        bias_at_((p.weight.size() + 15) / 16 * 16),
        parameters_(stream, arena()),
        halves_(stream, as<Half>(arena())),
        input_(stream, p.input),
        output_(stream, static_cast<std::size_t>(p.outputs)),
        d_output_(stream, p.d_output),
        d_input_(stream, p.input.size()),
        d_weights_(stream, p.weight.size()),
        d_bias_(stream, p.bias_values.size()) {
    context.parameters = parameters_.data();
    context.half_parameters = halves_.data();
  }

  Results run(LinearPlan& plan, bool recorded) {
    OnDevice<float> saved(stream_, static_cast<std::size_t>(problem_.training ? plan.saved_size() : 0));
    OnDevice<float> scratch(stream_, static_cast<std::size_t>(plan.scratch_size()));
    cudaGraph_t graph = nullptr;
    if (recorded) must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue(plan, saved, scratch);
    if (recorded) {
      must(cudaStreamEndCapture(stream_, &graph));
      replay(graph);
    }
    static_cast<void>(saved.read());  // checks the margins
    static_cast<void>(scratch.read());
    Results r;
    r.output = output_.read();
    if (!problem_.training) return r;
    r.d_input = d_input_.read();
    r.d_weights = d_weights_.read();
    r.d_bias = d_bias_.read();
    return r;
  }

 private:
  Values arena() const {
    Values all = problem_.weight;
    all.resize(bias_at_);
    all.insert(all.end(), problem_.bias_values.begin(), problem_.bias_values.end());
    return all;
  }
  void enqueue(LinearPlan& plan, Slice saved, Slice scratch) {
    const ConstSlice parameters(parameters_.data(), parameters_.size());
    const ConstSlice weights = parameters.first(problem_.weight.size());
    const ConstSlice bias = problem_.bias == 0 ? ConstSlice() : parameters.subspan(bias_at_);
    plan.forward({input_.slice(), weights, bias, output_.slice(), saved, scratch});
    if (!problem_.training) return;
    const Slice d_bias = problem_.bias == 0 ? Slice() : Slice(d_bias_);
    plan.backward({input_.slice(), weights, output_.slice(), saved, d_output_.slice(), d_input_.slice(), d_weights_,
                   d_bias, scratch});
  }
  void replay(cudaGraph_t graph) {
    cudaGraphExec_t executable = nullptr;
    must(cudaGraphInstantiate(&executable, graph, 0));
    must(cudaGraphDestroy(graph));
    must(cudaGraphLaunch(executable, stream_));
    must(cudaStreamSynchronize(stream_));
    must(cudaGraphExecDestroy(executable));
  }

  const TestStream& stream_;
  const Problem& problem_;
  std::size_t bias_at_;
  OnDevice<float> parameters_;
  OnDevice<Half> halves_;
  Activations<T> input_, output_, d_output_, d_input_;
  OnDevice<float> d_weights_, d_bias_;
};

template <class MakePlan>
Results run_on_gpu(const Setting& setting, const Problem& problem, const MakePlan& make_plan) {
  const TestStream stream;
  const auto libraries = make_libraries(stream);
  Context context;
  context.stream = stream;
  context.precision = setting.precision;
  context.deterministic = setting.deterministic;
  context.autotune = setting.autotune;
  context.libraries = libraries.get();
  const std::unique_ptr<LinearPlan> plan = make_plan(context);
  if (setting.precision == Precision::kBf16) return GpuRun<Half>(stream, context, problem).run(*plan, setting.recorded);
  return GpuRun<float>(stream, context, problem).run(*plan, setting.recorded);
}

Problem problem_of(const ConvolutionShape& s) {
  Problem p;
  p.inputs = s.samples * s.input.size();
  p.weights = std::int64_t{1} * s.window.height * s.window.width * s.input.channels * s.outputs;
  p.bias = s.bias ? s.outputs : 0;
  p.outputs = s.samples * s.output().size();
  p.training = s.training;
  p.fill();
  return p;
}

Problem problem_of(const DenseShape& s) {
  Problem p;
  p.inputs = s.samples * s.inputs;
  p.weights = s.inputs * s.outputs;
  p.bias = s.bias ? s.outputs : 0;
  p.outputs = s.samples * s.outputs;
  p.training = s.training;
  p.fill();
  return p;
}

struct NamedShape {
  const char* name;
  ConvolutionShape shape;
};

std::vector<NamedShape> convolutions() {
  return {
      {"pooled", {2, {8, 10, 3}, {5, 5, 1, 2}, 6, true, true, 2}},
      {"pooled_of_one_channel", {3, {9, 7, 1}, {3, 3, 1, 0}, 5, true, true, 3}},
      {"relu", {2, {6, 5, 4}, {3, 3, 1, 1}, 7, true, true, 0}},
      {"bias_alone", {2, {6, 5, 3}, {3, 1, 1, 0}, 4, true, false, 0}},
      {"relu_alone", {2, {6, 5, 3}, {1, 3, 1, 0}, 4, false, true, 0}},
      {"plain_with_stride", {2, {8, 8, 8}, {3, 3, 2, 1}, 16, false, false, 0}},
      {"stem", {1, {14, 14, 3}, {7, 7, 2, 3}, 8, false, false, 0}},
      {"pixels", {2, {5, 6, 8}, {1, 1, 1, 0}, 12, true, true, 0}},
      {"pixels_with_stride", {2, {5, 6, 8}, {1, 1, 2, 0}, 16, false, false, 0}},
  };
}

class Parity : public testing::TestWithParam<Setting> {
 protected:
  // In training and in evaluation.
  template <class Shape>
  void compare(Shape shape) {
    for (const bool training : {true, false}) {
      shape.training = training;
      const Problem problem = problem_of(shape);
      const auto cpu = make_cpu_compute(1);
      const Results expected = run_on_cpu(*cpu->plan(shape), problem);
      const auto make = [&](const Context& context) { return make_plan(context, shape); };
      expect_same(run_on_gpu(GetParam(), problem, make), expected);
    }
  }
};

TEST_P(Parity, of_convolutions) {
  for (const NamedShape& named : convolutions()) {
    SCOPED_TRACE(named.name);
    compare(named.shape);
  }
}

TEST_P(Parity, of_dense_layers) {
  for (const bool relu : {false, true}) {
    compare(DenseShape{6, 20, 10, relu});  // with ten classes, rows are not aligned to 16 bytes
  }
}

// A table of tokens; one row too, and odd numbers.
TEST_P(Parity, of_dense_layers_with_transposed_weights) {
  for (DenseShape shape : {DenseShape{6, 20, 10}, DenseShape{1, 5, 301}, DenseShape{9, 7, 13}, DenseShape{3, 8, 1}}) {
    shape.transposed = true;
    for (const bool bias : {false, true}) {
      shape.bias = bias;
      SCOPED_TRACE(std::to_string(shape.outputs) + (bias ? " with bias" : ""));
      compare(shape);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, Parity,
                         testing::Values(Setting{"fp32", Precision::kFp32}, Setting{"tf32", Precision::kTf32},
                                         Setting{"bf16", Precision::kBf16},
                                         Setting{"bf16_deterministic", Precision::kBf16, true},
                                         Setting{"tf32_autotuned", Precision::kTf32, false, true},
                                         Setting{"tf32_recorded", Precision::kTf32, false, false, true}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace eave::cuda
