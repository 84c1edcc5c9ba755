#include "c/matched_transport.h"

#include "eave/check.h"
#include "transport/core/text_routes.h"

namespace eave {

void MatchedTransport::enter(InterfaceCall::Function function) {
  mark_ = static_cast<char>('A' + static_cast<int>(function));
}

std::string MatchedTransport::unmarked(const std::string& text) const {
  if (!text.empty() && text.front() == mark_) return text.substr(1);
  throw Error(ExitCode::kPeerLost,
              "the ranks are out of step: another rank has called another function of eave. All ranks call the same "
              "functions in the same order: put none of the calls below a condition such as `if rank == 0`");
}

std::vector<std::string> MatchedTransport::texts(const std::string& mine, TextRoute route) {
  std::string marked;
  if (route != TextRoute::kFirstToEach) {
    marked = mark_ + mine;
  } else if (rank() == 0) {  // one text for each rank
    for (const std::string& each : unpack_texts(mine)) append_text(marked, mark_ + each);
  }
  std::vector<std::string> all = inner_.texts(marked, route);
  for (std::string& text : all) text = unmarked(text);
  return all;
}

}  // namespace eave
