// Helpers that the fuzz targets share.
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

using Bytes = std::span<const std::uint8_t>;

// Each target defines this function, which gives `bytes` to its parser.
void fuzz(Bytes bytes);

// Runs `parse`, which may accept its input or refuse it with an Error of one of `codes`. Anything else ends the
// process: another code, another exception, or an empty message.
void take_or_refuse(std::initializer_list<ExitCode> codes, const std::function<void()>& parse);
inline void take_or_refuse(const std::function<void()>& parse) { take_or_refuse({ExitCode::kBadData}, parse); }

// `bytes` packed as a zlib stream, or with `is_gzip` as a gzip stream.
std::vector<std::uint8_t> packed(Bytes bytes, bool is_gzip);

// Writes `bytes` to a file in memory and returns its path, for parsers that open a file. Each call reuses that file.
std::string file_of(Bytes bytes);

inline std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace eave
