// The option --weight-decay.
#pragma once

#include "eave/options.h"

namespace eave {

// Has one meaning for every optimizer that has it.
inline OptionSpec weight_decay_option() {
  return {"weight-decay", OptionType::kReal, "0",
          "sgd: add this times the parameters to the gradient; adamw: shrink the parameters by lr times this"};
}

}  // namespace eave
