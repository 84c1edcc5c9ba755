// The option --weight-decay.
#pragma once

#include "eave/options.h"

namespace eave {

// Has one meaning for every optimizer that has it.
inline OptionSpec weight_decay_option() {
  return {"weight-decay", OptionType::kReal, "0",
          "sgd: adds this times x to the gradient; adamw: shrinks x by lr times this"};
}

}  // namespace eave
