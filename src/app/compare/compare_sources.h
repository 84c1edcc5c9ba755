// Options of eave train that --config and EAVE_* variables give to a comparison. Each run reads them by itself. Those
// that the comparison acts on, or sets for its runs, are taken or refused here.
#pragma once

#include <string>

#include "app/compare/compare_grid.h"
#include "eave/options.h"

namespace eave {

// `given`: the options of train from all places, as CommandLine::read returns them. Adds to `own` and `of_train` what
// the comparison itself acts on: --batch, --ranks, --transport and --progress. Throws Error(kUsage).
void take_other_sources(const OptionValues& given, OptionValues& own, Settings& of_train);

}  // namespace eave
