// A dense layer by cuBLASLt. The forward product applies bias and relu itself.
#pragma once

#include <memory>

#include "device/cuda/library_handles.h"

namespace eave::cuda {

class CublasDense final : public LinearPlan {
 public:
  // `bias`: whether calls of forward pass a bias.
  CublasDense(const Context& context, const DenseShape& shape, bool bias);

  std::int64_t scratch_size() const override;
  void forward(const LinearForward& call) override;
  void backward(const LinearBackward& call) override;

 private:
  template <class T>
  void run_relu(Slice output);
  template <class T>
  void run_back_through_relu_and_bias(const LinearBackward& call);

  const Context& context_;
  LibraryHandles& libraries_;
  DenseShape shape_;
  bool bias_, half_;
  std::shared_ptr<const ProductPlan> forward_, to_weights_, to_input_;
};

}  // namespace eave::cuda
