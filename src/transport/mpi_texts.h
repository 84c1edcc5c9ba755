// Texts between the ranks of an MPI communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eave/transport.h"
#include "transport/mpi_messages.h"

namespace eave {

// Up and down a binomial tree: a rank waits for at most log2 p others, one after another, and passes on what goes to or
// comes from its subtree.
class MpiTexts {
 public:
  // `wait` returns once the messages have moved. Eight tags from the first on are used by nobody else: two of each
  // route, for ranks that are out of step are not to meet.
  MpiTexts(MpiMessages& messages, int first_tag, std::function<void(MpiMessages::Requests&)> wait);
  std::vector<std::string> texts(const std::string& mine, TextRoute route);

 private:
  // Goes first, the rest of a longer text behind it: most are one message.
  struct Head {
    std::uint64_t length = 0;
    char begin[248] = {};
  };

  std::string collect(const std::string& mine);
  std::string hand_down(std::string packed);
  std::string hand_out(std::string packed);
  void send(const std::string& text, std::span<const int> ranks);
  std::string receive(int rank);
  void take(MpiMessages::Bytes bytes, int rank, int tag);

  MpiMessages& messages_;
  const int first_tag_;
  int tag_ = 0;  // of the route under way
  const std::function<void(MpiMessages::Requests&)> wait_;
};

}  // namespace eave
