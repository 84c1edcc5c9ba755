// What the targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {

// A parser takes its input, or refuses it with one of these codes; all else (another code, another exception, a message
// without a word) ends the process.
void take_or_refuse(std::initializer_list<ExitCode> codes, const std::function<void()>& parse);

// `bytes` as a zlib stream, or with `is_gzip` as a gzip one.
std::vector<std::uint8_t> packed(std::span<const std::uint8_t> bytes, bool is_gzip);

// A file in memory with a path, for parsers that open one; the same one each time.
std::string file_of(std::span<const std::uint8_t> bytes);

inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace eave
