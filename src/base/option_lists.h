// Options that hold several values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// What stands between separators, without the blanks around it; may be empty.
std::vector<std::string> split_text(const std::string& text, char separator);

// The same of a text that `option` gave. Throws Error(kUsage) that names the item which is empty: of "a,,b" the second.
// `what` an item is stands in that message.
std::vector<std::string> parts_of(const std::string& text, char separator, const OptionValues& values,
                                  const std::string& option, const std::string& what = "item");

// The option's own text between commas, each part once. Throws Error(kUsage) when one is empty or named twice.
std::vector<std::string> list_of(const OptionValues& values, const std::string& option);

// One item of the option as a number. Throws Error(kUsage).
std::int64_t integer_item(const std::string& item, const OptionValues& values, const std::string& option,
                          std::int64_t minimum, std::int64_t maximum);
double real_item(const std::string& item, const OptionValues& values, const std::string& option);

// The option as a list of whole numbers, each once however it is written. Throws Error(kUsage).
std::vector<int> integers_of(const OptionValues& values, const std::string& option, int minimum, int maximum);

}  // namespace eave
