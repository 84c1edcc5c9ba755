// Options that several optimizers share.
#pragma once

#include "base/options/option_values.h"

namespace eave {

// --weight-decay, with one meaning for every optimizer that has it.
OptionSpec weight_decay_option();

}  // namespace eave
