// Names the runs that did not finish, so that nobody judges a method by the runs that are left.
#pragma once

#include <string>

#include "report/compare/comparison.h"

namespace eave {

// "8 of 10 runs of easgd tau=10 diverged, and all 3 runs of gossip failed": of the methods with the ranks, batch and
// place of `like`. Runs that may still go on do not count. "" if there are none.
std::string lost_runs(const Comparison& comparison, const Variant& like);

// "easgd tau=2 diverged in all its runs", for each method without a finished run; "" if there is none.
std::string lost_methods(const Comparison& comparison);

}  // namespace eave
