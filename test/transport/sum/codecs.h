// Helpers for tests of codecs: make a codec by name, encode values, and encode and decode them.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/codecs/codec.h"

namespace eave {

inline std::unique_ptr<Codec> make_codec(const std::string& name, const std::string& share = "") {
  const auto kind = std::ranges::find(codec_kinds(), name, &CodecKind::name);
  if (kind == codec_kinds().end()) throw std::logic_error("no codec " + name);
  OptionValues values;
  for (const OptionSpec& option : kind->options) values.declare(option);
  if (!share.empty()) values.set("top-k-share", share, "command line");
  return kind->make(values);
}

inline std::vector<std::byte> encoded(const Codec& codec, ConstSlice values) {
  std::vector<std::byte> bytes(encoded_bytes(codec, values.size()));
  encode(codec, values, bytes.data());
  return bytes;
}

// `values` after the codec has encoded and decoded them.
inline std::vector<float> left_of(const Codec& codec, std::vector<float> values) {
  const std::vector<std::byte> bytes = encoded(codec, values);
  std::ranges::fill(values, -77.0f);
  decode(codec, values, bytes.data());
  return values;
}

}  // namespace eave
