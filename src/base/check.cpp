#include "eave/check.h"

namespace eave {

void fail_check(const char* statement, const char* file, int line, const std::string& detail) {
  throw Error(ExitCode::kInternal, std::string("internal error: ") + statement + " does not hold (" + detail + ") at " +
                                       file + ":" + std::to_string(line) + "; please report this");
}

}  // namespace eave
