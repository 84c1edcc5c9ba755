#include "base/host.h"

#include <unistd.h>

#include <array>

namespace eave {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace eave
