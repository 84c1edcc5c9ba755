// Finds ranks whose small messages meet in different calls of eave.h.
#pragma once

#include <string>
#include <vector>

#include "c/call_watch.h"
#include "transport/decorators/forwarding.h"

namespace eave {

// Marks each text with the function that the rank is in. Ranks in different functions, as after `if rank == 0:`, would
// otherwise take one another's texts for answers. `inner` outlives this.
class MatchedTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  // The function whose texts follow. Before the first call texts have a mark of their own.
  void enter(InterfaceCall::Function function);
  // Throws Error(kPeerLost) if a text that has come is of another function.
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override;

 private:
  std::string unmarked(const std::string& text) const;
  char mark_ = '@';
};

}  // namespace eave
