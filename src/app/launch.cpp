#include "app/launch.h"

#include <algorithm>

namespace eave {

int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body) {
  const std::vector<TransportKind>& kinds = transport_kinds();
  const auto find = [&](const std::string& name) {
    return std::find_if(kinds.begin(), kinds.end(), [&](const TransportKind& kind) { return kind.name == name; });
  };
  auto kind = find(transport == "auto" ? (started_by_launcher() ? "mpi" : "loopback") : transport);
  if (kind == kinds.end()) {
    kind = find("loopback");
    return kind->run(1, [](Transport&) {
      throw Error(ExitCode::kPeerLost,
                  "started by an MPI launcher, but this eave was built without MPI; install "
                  "libopenmpi-dev and build again, or run without a launcher");
    });
  }
  return kind->run(ranks, body);
}

int run_once(const std::function<void()>& action) {
  return run_ranks("auto", 0, [&](Transport& transport) {
    agree(transport, [&] {
      if (transport.rank() == 0) action();
    });
  });
}

bool asks_for_help(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace eave
