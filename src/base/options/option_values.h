// Checks values of options, and splits those that hold several values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// Returns the value of a real option in [minimum, limit). Throws Error(kUsage) with these bounds otherwise.
double real_in(const OptionValues& values, const std::string& name, double minimum, double limit);

// Returns the value of a real option. Throws Error(kUsage) if it is 0 or below.
double positive_real_in(const OptionValues& values, const std::string& name);

// Throws Error(kUsage) with the option as it was given, and `reason`.
[[noreturn]] void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason);

// Returns the items between separators, without the blanks around them. Items may be empty.
std::vector<std::string> split_text(const std::string& text, char separator);

// The same for `text`, which is from `option`. Throws Error(kUsage) with the number of an empty item: in "a,,b" the
// second. `what` is the word for an item in that message.
std::vector<std::string> parts_of(const std::string& text, char separator, const OptionValues& values,
                                  const std::string& option, const std::string& what = "item");

// Returns the option's items, separated by commas. Throws Error(kUsage) if one is empty or named twice.
std::vector<std::string> list_of(const OptionValues& values, const std::string& option);

// Returns one item of the option as a number. Throws Error(kUsage).
std::int64_t integer_item(const std::string& item, const OptionValues& values, const std::string& option,
                          std::int64_t minimum, std::int64_t maximum);
double real_item(const std::string& item, const OptionValues& values, const std::string& option);

// Returns the option as a list of whole numbers. Each may occur once, however it is written. Throws Error(kUsage).
std::vector<int> integers_of(const OptionValues& values, const std::string& option, int minimum, int maximum);

}  // namespace eave
