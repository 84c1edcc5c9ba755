#include "eave/optimizer.h"
#include "kernels/cpu/update.h"

namespace eave {

void apply_pull(Slice parameters, const Pull& pull) { cpu::pull_parameters(parameters, pull); }

}  // namespace eave
