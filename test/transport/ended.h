// How a job of ranks ended.
#pragma once

#include <string>

namespace eave {

struct Ended {
  int code = 0;
  std::string printed;
};

}  // namespace eave
