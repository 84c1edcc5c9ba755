// A plug-in whose option has the name of another: as a text --tau, which the built-in methods declare as a number, or
// --seed, which is no method's option.
#include "eave/communicator.h"

namespace {

#ifdef OTHER_SEED
constexpr const char *kMethod = "other-seed", *kOption = "seed", *kDefault = "1";
constexpr auto kType = eave::OptionType::kInteger;
#else
constexpr const char *kMethod = "other-tau", *kOption = "tau", *kDefault = "";
constexpr auto kType = eave::OptionType::kText;
#endif

eave::CommunicatorKind describe() {
  return {kMethod,
          "its option is not that of others",
          {},
          {{kOption, kType, kDefault, "not that of others"}},
          [](const eave::CommunicatorContext&) { return std::unique_ptr<eave::Communicator>(); }};
}

}  // namespace

EAVE_COMMUNICATOR_PLUGIN(describe)
