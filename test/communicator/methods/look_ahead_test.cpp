// If the workers use Nesterov momentum, a method's card says which points it exchanges.
#include <gtest/gtest.h>

#include <map>

#include "test/communicator/worker.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

std::string card_of(Transport& transport, const std::string& method, const Given& given) {
  return Worker(transport, method, given, {.momentum = 0.9, .nesterov = true}).communicator().equation();
}

TEST(LookAhead, is_on_the_card_of_every_method_that_exchanges_what_workers_hold) {
  const std::string pulled = "EAMSGD: x_i is the iterate", pushed = "push what it has moved by, and go on from x_i = c";
  const std::string averaged = "x_i are the parameters as held", gossiped = "evaluated: the mean of the y_i";
  const std::map<std::string, std::string> texts = {
      {"easgd", pulled},    {"easgd-async", pulled}, {"easgd-tree", pulled},  {"gossip", gossiped},
      {"downpour", pushed}, {"adownpour", pushed},   {"mvadownpour", pushed}, {"local-sgd", averaged},
      {"bmuf", averaged},   {"slowmo", averaged},    {"diloco", averaged}};
  on_ranks({"threads", 2}, [&](Transport& transport) {
    for (const auto& [method, text] : texts) {
      EXPECT_TRUE(says(card_of(transport, method, {{"nesterov", "on"}}), text)) << method;
      EXPECT_FALSE(says(card_of(transport, method, {}), text)) << method;
    }
    for (const CommunicatorKind& kind : communicator_kinds()) {
      const bool moves_by_itself = !kind.traits.uses_optimizer || kind.traits.averages_gradients;
      if (moves_by_itself || kind.traits.only_one_rank || kind.name == "none") continue;
      EXPECT_TRUE(texts.contains(kind.name)) << "a row for " << kind.name;
    }
  });
}

TEST(LookAhead, is_that_of_the_exchanges_rate_unless_momentum_is_not_corrected) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    const Given corrected = {{"nesterov", "on"}}, plain = {{"nesterov", "on"}, {"momentum-correction", "off"}};
    EXPECT_TRUE(says(card_of(transport, "easgd", corrected), "x_i = y_i + lr mu v_i"));
    EXPECT_TRUE(says(card_of(transport, "easgd", plain), "x_i = y_i + mu v_i"));
  });
}

}  // namespace
}  // namespace eave
