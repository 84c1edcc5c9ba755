// All values of a sample in one row. Dense layers read images directly, so this layer exists only for texts that have
// the word.
#include "eave/check.h"
#include "nn/layer.h"

namespace eave {
namespace {

class Flatten final : public Layer {
 public:
  explicit Flatten(ImageShape input) : size_(static_cast<int>(input.size())) {}
  std::string describe() const override { return "flatten"; }
  ImageShape output() const override { return {1, 1, size_}; }
  bool is_view() const override { return true; }
  std::unique_ptr<LayerPlan> plan(Compute&, const LayerUse&) const override {
    EAVE_CHECK(false, "a view has nothing to plan");
    return nullptr;
  }

 private:
  int size_;
};

std::unique_ptr<Layer> make_flatten(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return std::make_unique<Flatten>(context.input);
}

}  // namespace

LayerKind describe_layer_flatten() { return {"flatten", "", "flatten", make_flatten, true}; }

}  // namespace eave
