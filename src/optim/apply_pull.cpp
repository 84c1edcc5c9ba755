#include "eave/optimizer.h"
#include "kernels/cpu/update.h"

namespace eave {

void apply_pull(Slice parameters, const Pull& pull, const Ahead& ahead) {
  cpu::pull_parameters(parameters, pull, ahead);
}

}  // namespace eave
