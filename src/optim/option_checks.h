// Options that the members of this room share.
#pragma once

#include "base/option_checks.h"

namespace eave {

// --weight-decay belongs to several optimizers: one meaning, one declaration.
OptionSpec weight_decay_option();

}  // namespace eave
