#include "zoo_convolutions.h"

#include <algorithm>
#include <stdexcept>

#include "eave/model.h"
#include "nn/graph.h"
#include "nn/specification.h"

namespace eave {
namespace {

// A plan that is never called.
template <class Plan>
class NoPlan;
template <class Forward>
class NoPlan<ForwardPlan<Forward>> final : public ForwardPlan<Forward> {
  void forward(const Forward&) override {}
};
template <class Forward, class Backward>
class NoPlan<GradientPlan<Forward, Backward>> final : public GradientPlan<Forward, Backward> {
  void forward(const Forward&) override {}
  void backward(const Backward&) override {}
};

[[noreturn]] void refuse() { throw std::logic_error("only planning is recorded"); }

// A Compute that records the convolutions that layers plan, and computes nothing.
class RecordingCompute final : public Compute {
 public:
  std::vector<ConvolutionShape> convolutions;

  std::int64_t activation_size(std::int64_t values) const override { return values; }
  std::int64_t smallest_part() const override { return 0; }

  Device& device() override { refuse(); }
  std::unique_ptr<DeviceImages> load_images(
      std::int64_t, const ImagePlacing&, const std::function<void(std::int64_t, std::span<std::uint8_t>)>&) override {
    refuse();
  }
  ConstSlice begin_pass(const PassKind&, const PassInputs&) override { refuse(); }
  void cut() override { refuse(); }
  void forget_passes() noexcept override {}
  std::int64_t end_pass() override { refuse(); }
  LossSum loss(std::int64_t) override { refuse(); }
  void add(ConstSlice, ConstSlice, Slice) override { refuse(); }
  void copy(ConstSlice, Slice) override { refuse(); }
  void fill(Slice, float) override { refuse(); }

 private:
  std::unique_ptr<OperationPlan> make_plan(const OperationShape& any) override {
    if (const auto* shape = std::get_if<ConvolutionShape>(&any)) convolutions.push_back(*shape);
    return std::visit(
        []<class Shape>(const Shape&) -> std::unique_ptr<OperationPlan> {
          return std::make_unique<NoPlan<typename Shape::Plan>>();
        },
        any);
  }
};

// The image shapes of MNIST and Fashion-MNIST, of CIFAR-10, and of ImageNet for models that take images of any size.
std::vector<ImageShape> inputs_of(const std::string& model) {
  std::vector<ImageShape> inputs = {{28, 28, 1}, {32, 32, 3}};
  if (model_specification(model).find("global_pool") != std::string::npos) inputs.push_back({224, 224, 3});
  if (const int crop = model_crop(model); crop > 0) {
    for (ImageShape& input : inputs) input.height = input.width = crop;
  }
  return inputs;
}

bool same(const ConvolutionShape& a, const ConvolutionShape& b) {
  return a.input == b.input && a.window.height == b.window.height && a.window.width == b.window.width &&
         a.window.stride == b.window.stride && a.window.pad == b.window.pad && a.outputs == b.outputs &&
         a.bias == b.bias && a.relu == b.relu && a.pool == b.pool;
}

void record(RecordingCompute& compute, const std::string& model, ImageShape input, std::int64_t samples) {
  const Graph graph = build_graph(model_specification(model), input, 10);
  for (const Node& node : graph.nodes) {
    if (!node.layer->is_view()) node.layer->plan(compute, {samples, true, true});
  }
}

std::vector<ConvolutionShape> distinct(const std::vector<ConvolutionShape>& all) {
  std::vector<ConvolutionShape> found;
  for (const ConvolutionShape& shape : all) {
    if (std::ranges::none_of(found, [&](const ConvolutionShape& known) { return same(known, shape); }))
      found.push_back(shape);
  }
  return found;
}

}  // namespace

std::vector<ConvolutionShape> zoo_convolutions(std::int64_t samples) {
  RecordingCompute compute;
  for (const std::string& model : model_names())
    if (!model_reads_tokens(model))  // models of text have no convolutions
      for (const ImageShape& input : inputs_of(model)) record(compute, model, input, samples);
  return distinct(compute.convolutions);
}

std::vector<ConvolutionShape> zoo_convolutions_of(const std::string& model, ImageShape input, std::int64_t samples) {
  RecordingCompute compute;
  record(compute, model, input, samples);
  return distinct(compute.convolutions);
}

}  // namespace eave
