// The options of an Averager: those of its method, and those options of `eave train` that apply to any loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "communicator/support/plugin.h"
#include "eave/communicator.h"
#include "eave/options.h"

namespace eave {

struct AveragerOptions {
  const CommunicatorKind* kind = nullptr;
  OptionValues values;
  std::optional<Plugin> plugin;  // that brought the method; nullopt: the method is eave's own
  // As CommunicatorContext::settings: those that somebody gave.
  std::vector<std::pair<std::string, std::string>> settings() const;
  // The method's options that nobody gave and that have a default: names and texts.
  std::vector<std::pair<std::string, std::string>> defaults_of_method() const;
};

// `options`: words "name=value" with spaces between them. Throws Error(kUsage) if an option is unknown, contradicts
// another one or has no effect.
AveragerOptions parse_averager_options(const std::string& options);
// Does the work. If it throws an Error, options in the message have the form of an averager's: tau=0, not --tau 0.
void in_words_of_averager(const std::function<void()>& work);
// Throws Error(kUsage) if the method needs something that only eave's own loop can give.
void refuse_demands(Communicator& communicator);

// Collective. Throws AgreedError(kConfiguration) if ranks have different options or plug-ins. Loads the plug-ins.
void agree_on_options(Transport& transport, const std::string& options, std::size_t parameters);
// Collective. Throws AgreedError(kConfiguration) if a rank's text differs from rank 0's, with the first line that
// differs.
void require_same(Transport& transport, const std::string& own);

// A warning of a method in the words of the options of an averager: "with tau=10" for "with --tau 10", "a smaller tau"
// for "a smaller --tau".
std::string in_words_of_averager(std::string warning, const OptionValues& values);

// A warning if a method that exchanges every tau steps has made no exchange, or only a few, in this many steps; "" if
// it has made enough, or if its intervals are not fixed. `values`: the options of the averager.
std::string describe_few_exchanges(const OptionValues& values, std::int64_t steps);

}  // namespace eave
