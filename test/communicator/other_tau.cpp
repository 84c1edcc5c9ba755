// A plug-in that declares --tau as a text, unlike the built-in methods, which declare a number.
#include "eave/communicator.h"

namespace {

eave::CommunicatorKind describe() {
  return {"other-tau",
          "its option is not that of others",
          {},
          {{"tau", eave::OptionType::kText, "", ""}},
          [](const eave::CommunicatorContext&) { return std::unique_ptr<eave::Communicator>(); }};
}

}  // namespace

EAVE_COMMUNICATOR_PLUGIN(describe)
