// The operations of windows of tokens, which GPUs do not have yet: making their plans fails.
#include "device/cuda/plans/plans.h"
#include "eave/check.h"

namespace eave::cuda {

void refuse_on_gpu(const char* layer) {
  throw Error(ExitCode::kConfiguration,
              std::string("model: ") + layer + " is computed on the CPU only: give --device cpu");
}

std::unique_ptr<EmbeddingShape::Plan> make_plan(const Context&, const EmbeddingShape&) { refuse_on_gpu("embedding"); }
std::unique_ptr<RowNormShape::Plan> make_plan(const Context&, const RowNormShape& shape) {
  refuse_on_gpu(shape.centred ? "layer_norm" : "rms_norm");
}
std::unique_ptr<AttentionShape::Plan> make_plan(const Context&, const AttentionShape&) { refuse_on_gpu("attention"); }
std::unique_ptr<UnaryPlan> make_plan(const Context&, const RotaryShape&) { refuse_on_gpu("rotary"); }
std::unique_ptr<UnaryPlan> make_plan(const Context&, const GatedShape&) { refuse_on_gpu("gated"); }

}  // namespace eave::cuda
