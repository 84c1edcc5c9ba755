#include "optim/option_checks.h"

namespace eave {

OptionSpec weight_decay_option() {
  return {"weight-decay", OptionType::kReal, "0",
          "sgd: adds this times x to the gradient; adamw: shrinks x by lr times this"};
}

}  // namespace eave
