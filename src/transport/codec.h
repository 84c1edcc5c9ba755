// How float32 values travel in fewer bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/slice.h"

namespace eave {

// Keeps nothing from one block to the next, so any thread may use it, and a vector's bytes do not depend on how it is
// cut between blocks. Values that are not finite come back as such; of a block that has some, all may.
class Codec {
 public:
  static constexpr std::size_t kBlock = 1024;                        // values; a vector's last block may be shorter
  static constexpr std::size_t kMostBytes = kBlock * sizeof(float);  // that a block takes
  virtual ~Codec() = default;
  // Of a block of so many values, 1 … kBlock: whatever they are.
  virtual std::size_t encoded_bytes(std::size_t count) const = 0;
  virtual void encode(ConstSlice block, std::byte* into) const = 0;
  virtual void decode(Slice block, const std::byte* from) const = 0;
  // What is dropped of a value, in a few words of ASCII.
  virtual std::string describe() const = 0;
};

// Of a vector of so many values.
std::size_t encoded_bytes(const Codec& codec, std::size_t count);
// A whole vector, block after block.
void encode(const Codec& codec, ConstSlice values, std::byte* into);
void decode(const Codec& codec, Slice values, const std::byte* from);

// Each value becomes what a codec leaves of it.
void round_trip(const Codec& codec, Slice values);

// A member of the codec family: one file in src/transport/codecs and one word in its CMake list.
struct CodecKind {
  std::string name;
  std::string summary;
  // Whether each value comes back within a small part of itself, or of the largest one in its block: then values that
  // are not differences can be sent too.
  bool only_rounds = false;
  std::vector<OptionSpec> options;  // used by this codec; given with another they are an error
  // Throws Error(kUsage) for options out of range.
  std::unique_ptr<Codec> (*make)(const OptionValues& values);
};

const std::vector<CodecKind>& codec_kinds();

}  // namespace eave
