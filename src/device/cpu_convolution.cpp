#include <string>
#include <unordered_map>

#include "device/cpu_plans.h"
#include "device/dnnl_convolution.h"
#include "eave/check.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/pool.h"

namespace eave {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

std::int64_t floats(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 63) / 64 * 16); }

memory::desc describe(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

// Hands out pieces of a scratch slice.
class Pieces {
 public:
  explicit Pieces(Slice scratch) : rest_(scratch) {}
  Slice take(std::int64_t size) {
    const auto count = static_cast<std::size_t>(size);
    EAVE_CHECK(count <= rest_.size(), "scratch of " + std::to_string(rest_.size()) + " numbers is too small");
    const Slice piece = rest_.first(count);
    rest_ = rest_.subspan(count);
    return piece;
  }

 private:
  Slice rest_;
};

dnnl::primitive_attr own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A primitive with its memories made once: a run sets addresses and executes.
class Operation {
 public:
  Operation() = default;
  template <class Description>
  Operation(const Description& description, const dnnl::engine& engine,
            const std::vector<std::pair<int, memory::desc>>& arguments)
      : primitive_(description.get()), scratch_size_(floats(description.scratchpad_desc().get_size())) {
    for (const auto& [argument, layout] : arguments) memories_.emplace(argument, memory(layout, engine, nullptr));
    memories_.emplace(DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), engine, nullptr));
  }

  std::int64_t scratch_size() const { return scratch_size_; }
  void set(int argument, const float* data) {
    // oneDNN takes inputs by pointer to non-const and does not write to them.
    memories_.at(argument).set_data_handle(const_cast<float*>(data));
  }
  void run(dnnl::stream& stream, Slice scratch) {
    set(DNNL_ARG_SCRATCHPAD, scratch.data());
    primitive_.execute(stream, memories_);
  }

 private:
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> memories_;
  std::int64_t scratch_size_ = 0;
};

// Between our plain weights [height, width, in, out] and the layout that an operation prefers.
class Repacking {
 public:
  Repacking() = default;
  Repacking(const memory::desc& from, const memory::desc& into, const dnnl::engine& engine)
      : needed_(from != into), packed_size_(0) {
    if (!needed_) return;
    packed_size_ = floats(std::max(from.get_size(), into.get_size()));
    const dnnl::reorder::primitive_desc description(engine, from, engine, into, own_scratch());
    operation_ = Operation(description, engine, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, into}});
  }

  bool needed() const { return needed_; }
  std::int64_t packed_size() const { return packed_size_; }
  std::int64_t scratch_size() const { return needed_ ? operation_.scratch_size() : 0; }
  void run(dnnl::stream& stream, const float* from, float* into, Slice scratch) {
    operation_.set(DNNL_ARG_FROM, from);
    operation_.set(DNNL_ARG_TO, into);
    operation_.run(stream, scratch);
  }

 private:
  bool needed_ = false;
  std::int64_t packed_size_ = 0;
  Operation operation_;
};

class CpuConvolution final : public LinearPlan {
 public:
  CpuConvolution(DnnlContext& context, const ConvolutionShape& shape);
  std::int64_t saved_size() const override;
  std::int64_t scratch_size() const override { return convolved_size() + working_size_; }
  void forward(const LinearForward& call) override;
  void backward(const LinearBackward& call) override;

 private:
  DnnlConvolution description(Tag images, Tag weights) const;
  void plan_forward();
  void plan_backward();
  // With a pool the convolution's own output lives in scratch only.
  std::int64_t convolved_size() const { return shape_.pool == 0 ? 0 : shape_.samples * shape_.convolved().size(); }
  cpu::PoolGeometry pool() const;
  void convolve(const LinearForward& call, float* output, Slice scratch);
  void convolve_back_to_weights(const LinearBackward& call, const float* d_convolved, Slice scratch);
  void convolve_back_to_input(const LinearBackward& call, const float* d_convolved, Slice scratch);

  DnnlContext& context_;
  ConvolutionShape shape_;
  Operation forward_, to_input_, to_weights_;
  Repacking pack_forward_, pack_to_input_, unpack_gradient_;
  std::int64_t working_size_ = 0;
};

CpuConvolution::CpuConvolution(DnnlContext& context, const ConvolutionShape& shape) : context_(context), shape_(shape) {
  plan_forward();
  if (shape.training) plan_backward();
}

DnnlConvolution CpuConvolution::description(Tag images, Tag weights) const {
  const auto& [samples, input, window, outputs, bias, relu, pool, training] = shape_;
  const ImageShape out = shape_.convolved();
  DnnlConvolution c;
  c.input = describe({samples, input.channels, input.height, input.width}, images);
  c.weights = describe({outputs, input.channels, window.height, window.width}, weights);
  c.output = describe({samples, outputs, out.height, out.width}, images);
  c.strides = {window.stride, window.stride};
  c.pad_before = {window.pad, window.pad};
  // What oneDNN expects behind: the padding that is used, which a stride may cut short.
  c.pad_after = {(out.height - 1) * window.stride + window.height - input.height - window.pad,
                 (out.width - 1) * window.stride + window.width - input.width - window.pad};
  return c;
}

void CpuConvolution::plan_forward() {
  DnnlConvolution c = description(Tag::nhwc, Tag::any);
  if (shape_.bias) c.bias = describe({shape_.outputs}, Tag::x);
  const auto attributes = shape_.relu ? with_relu(own_scratch()) : own_scratch();
  const ForwardDescription chosen = describe_forward(context_.engine, c, attributes);
  std::vector<std::pair<int, memory::desc>> arguments = {
      {DNNL_ARG_SRC, c.input}, {DNNL_ARG_WEIGHTS, chosen.weights_desc()}, {DNNL_ARG_DST, c.output}};
  if (shape_.bias) arguments.emplace_back(DNNL_ARG_BIAS, c.bias);
  forward_ = Operation(chosen, context_.engine, arguments);
  const memory::desc plain = description(Tag::nhwc, Tag::hwio).weights;
  pack_forward_ = Repacking(plain, chosen.weights_desc(), context_.engine);
  working_size_ = pack_forward_.packed_size() + std::max(pack_forward_.scratch_size(), forward_.scratch_size());
}

void CpuConvolution::plan_backward() {
  const DnnlConvolution c = description(Tag::nhwc, Tag::any);
  const memory::desc plain = description(Tag::nhwc, Tag::hwio).weights;
  const dnnl::engine& engine = context_.engine;
  const ForwardDescription hint = describe_forward(engine, c, own_scratch());

  const BackwardDataDescription data = describe_backward_data(engine, c, own_scratch(), hint);
  to_input_ =
      Operation(data, engine,
                {{DNNL_ARG_DIFF_SRC, c.input}, {DNNL_ARG_WEIGHTS, data.weights_desc()}, {DNNL_ARG_DIFF_DST, c.output}});
  pack_to_input_ = Repacking(plain, data.weights_desc(), engine);
  const auto for_input =
      pack_to_input_.packed_size() + std::max(pack_to_input_.scratch_size(), to_input_.scratch_size());

  const BackwardWeightsDescription weights = describe_backward_weights(engine, c, own_scratch(), hint);
  to_weights_ = Operation(
      weights, engine,
      {{DNNL_ARG_SRC, c.input}, {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()}, {DNNL_ARG_DIFF_DST, c.output}});
  unpack_gradient_ = Repacking(weights.diff_weights_desc(), plain, engine);
  const auto for_weights =
      unpack_gradient_.packed_size() + std::max(unpack_gradient_.scratch_size(), to_weights_.scratch_size());
  working_size_ = std::max({working_size_, for_input, for_weights});
}

cpu::PoolGeometry CpuConvolution::pool() const {
  const ImageShape in = shape_.convolved();
  const ImageShape out = shape_.output();
  return {shape_.samples, in.height,   in.width,    in.channels, out.height,
          out.width,      shape_.pool, shape_.pool, shape_.pool, 0};
}

std::int64_t CpuConvolution::saved_size() const {
  return shape_.pool == 0 ? 0 : (shape_.samples * shape_.output().size() + 3) / 4;
}

void CpuConvolution::forward(const LinearForward& call) {
  Pieces pieces(call.scratch);
  const Slice convolved = pieces.take(convolved_size());
  const Slice working = pieces.take(working_size_);
  if (shape_.pool == 0) return convolve(call, call.output.data(), working);
  convolve(call, convolved.data(), working);
  auto* winners = call.saved.empty() ? nullptr : reinterpret_cast<std::uint8_t*>(call.saved.data());
  cpu::max_pool(pool(), convolved.data(), call.output.data(), winners);
}

void CpuConvolution::convolve(const LinearForward& call, float* output, Slice scratch) {
  Pieces pieces(scratch);
  const float* weights = call.weights.data();
  if (pack_forward_.needed()) {
    const Slice packed = pieces.take(pack_forward_.packed_size());
    pack_forward_.run(context_.stream, weights, packed.data(), Pieces(pieces).take(pack_forward_.scratch_size()));
    weights = packed.data();
  }
  forward_.set(DNNL_ARG_SRC, call.input.data());
  forward_.set(DNNL_ARG_WEIGHTS, weights);
  if (shape_.bias) forward_.set(DNNL_ARG_BIAS, call.bias.data());
  forward_.set(DNNL_ARG_DST, output);
  forward_.run(context_.stream, pieces.take(forward_.scratch_size()));
}

void CpuConvolution::backward(const LinearBackward& call) {
  Pieces pieces(call.scratch);
  const Slice convolved = pieces.take(convolved_size());
  const Slice working = pieces.take(working_size_);
  float* d_bias = call.d_bias.empty() ? nullptr : call.d_bias.data();
  const ImageShape out = shape_.output();
  const float* mask = shape_.relu ? call.output.data() : nullptr;
  if (mask != nullptr || d_bias != nullptr) {
    cpu::add_bias_gradient(mask, call.d_output.data(), d_bias, shape_.samples * out.height * out.width, out.channels);
  }
  const float* d_convolved = call.d_output.data();
  if (shape_.pool != 0) {
    cpu::max_pool_gradient(pool(), reinterpret_cast<const std::uint8_t*>(call.saved.data()), d_convolved,
                           convolved.data());
    d_convolved = convolved.data();
  }
  convolve_back_to_weights(call, d_convolved, working);
  if (!call.d_input.empty()) convolve_back_to_input(call, d_convolved, working);
}

void CpuConvolution::convolve_back_to_weights(const LinearBackward& call, const float* d_convolved, Slice scratch) {
  Pieces pieces(scratch);
  float* gradient = call.d_weights.data();
  if (unpack_gradient_.needed()) gradient = pieces.take(unpack_gradient_.packed_size()).data();
  to_weights_.set(DNNL_ARG_SRC, call.input.data());
  to_weights_.set(DNNL_ARG_DIFF_DST, d_convolved);
  to_weights_.set(DNNL_ARG_DIFF_WEIGHTS, gradient);
  to_weights_.run(context_.stream, Pieces(pieces).take(to_weights_.scratch_size()));
  if (!unpack_gradient_.needed()) return;
  unpack_gradient_.run(context_.stream, gradient, call.d_weights.data(), pieces.take(unpack_gradient_.scratch_size()));
}

void CpuConvolution::convolve_back_to_input(const LinearBackward& call, const float* d_convolved, Slice scratch) {
  Pieces pieces(scratch);
  const float* weights = call.weights.data();
  if (pack_to_input_.needed()) {
    const Slice packed = pieces.take(pack_to_input_.packed_size());
    pack_to_input_.run(context_.stream, weights, packed.data(), Pieces(pieces).take(pack_to_input_.scratch_size()));
    weights = packed.data();
  }
  to_input_.set(DNNL_ARG_WEIGHTS, weights);
  to_input_.set(DNNL_ARG_DIFF_DST, d_convolved);
  to_input_.set(DNNL_ARG_DIFF_SRC, call.d_input.data());
  to_input_.run(context_.stream, pieces.take(to_input_.scratch_size()));
}

}  // namespace

std::unique_ptr<LinearPlan> make_cpu_convolution(DnnlContext& context, const ConvolutionShape& shape) {
  return std::make_unique<CpuConvolution>(context, shape);
}

}  // namespace eave
