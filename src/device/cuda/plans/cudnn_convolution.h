// A convolution by cuDNN. Without a pool, the forward operation applies bias and relu itself. With a max-pool, one
// kernel applies bias, relu and pool after it. cuDNN's fast engines want the filter as [outputs, height, width,
// inputs]. So each forward pass packs the filter, and each backward pass unpacks its gradient.
#pragma once

#include <memory>

#include "device/cuda/library_handles.h"
#include "kernels/cuda/layers.h"

namespace eave::cuda {

// True for a window of one pixel without stride, padding or pool. Such a convolution is a dense layer over all pixels,
// and its weights need no packing.
bool is_product(const ConvolutionShape& shape);

// The pool over the convolution's output.
PoolGeometry pool_geometry(const ConvolutionShape& shape);

// T is the type of activations and of the weights that products read: float or Half.
template <class T>
class CudnnConvolution final : public LinearPlan {
 public:
  CudnnConvolution(const Context& context, const ConvolutionShape& shape);

  std::int64_t saved_size() const override { return saved_size_; }
  std::int64_t scratch_size() const override { return scratch_size_; }
  void forward(const LinearForward& call) override;
  void backward(const LinearBackward& call) override;

 private:
  void place_saved();
  void place_scratch();
  T* run_back_through_pool(const LinearBackward& call);
  void run_to_weights(const LinearBackward& call, const T* d_convolved);

  const Context& context_;
  LibraryHandles& libraries_;
  ConvolutionShape shape_;
  FilterSize filter_;
  std::shared_ptr<const CudnnPlan> forward_, to_weights_, to_input_;
  // Offsets in bytes: in `saved`, in forward's scratch and in backward's scratch. Sizes are in floats.
  std::int64_t saved_filter_ = 0, saved_winners_ = 0, saved_size_ = 0;
  std::int64_t packed_ = 0, convolved_ = 0, forward_workspace_ = 0;
  std::int64_t d_packed_ = 0, d_convolved_ = 0, backward_workspace_ = 0;
  std::int64_t scratch_size_ = 0;
};

}  // namespace eave::cuda
