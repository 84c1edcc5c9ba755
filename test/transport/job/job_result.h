// How a job of ranks ended: its exit code, and the text that it printed.
#pragma once

#include <string>

namespace eave {

struct JobResult {
  int code = 0;
  std::string printed;
};

}  // namespace eave
