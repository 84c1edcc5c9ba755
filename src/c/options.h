// The options of an Averager: those of its method, and what `eave train` has beside them for any loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eave/communicator.h"
#include "eave/options.h"

namespace eave {

struct AveragerOptions {
  const CommunicatorKind* kind = nullptr;
  OptionValues values;
  // For CommunicatorContext::settings.
  std::vector<std::pair<std::string, std::string>> settings() const;
};

// `options`: words "name=value" between spaces. Throws Error(kUsage) for an option that is unknown, contradicts another
// or would do nothing.
AveragerOptions parse_averager_options(const std::string& options);
// Throws Error(kUsage): of what the method asks that a loop which is not eave's cannot give it.
void refuse_demands(Communicator& communicator);

// Collective. Throws AgreedError(kConfiguration) where ranks were given other options, or other plug-ins. Loads these.
void agree_on_options(Transport& transport, const std::string& options, std::size_t parameters);
// Collective. Throws AgreedError(kConfiguration) where `own` is not rank 0's, and names the first line that differs.
void require_same(Transport& transport, const std::string& own);

}  // namespace eave
