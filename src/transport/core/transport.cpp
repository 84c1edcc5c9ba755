// What Transport and Wire do the same way for all members of their families.
#include "eave/transport.h"

#include "eave/check.h"
#include "transport/core/text_routes.h"
#include "transport/core/wire.h"

namespace eave {

namespace {

[[noreturn]] void refuse_to_split(const std::string& name) {
  fail_check("split", __FILE__, __LINE__, name + " is a decorator: split the transport that it decorates");
}

}  // namespace

std::unique_ptr<Transport> Transport::split(int) { refuse_to_split(name()); }
std::unique_ptr<Wire> Wire::split(int) { refuse_to_split(name()); }

std::string Transport::scatter(const std::vector<std::string>& texts) {
  std::string packed;
  if (rank() == 0) {
    EAVE_CHECK(static_cast<int>(texts.size()) == size(), "rank 0 has a text for each rank");
    for (const std::string& text : texts) append_text(packed, text);
  }
  return this->texts(packed, TextRoute::kFirstToEach).front();
}

}  // namespace eave
