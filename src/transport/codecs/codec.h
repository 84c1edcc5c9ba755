// Codecs: float32 values encoded in fewer bytes. Compression has four parts, from the option down to the loops:
//     src/communicator/support/compression.h  the option --compression, and the residual that a method keeps
//     src/transport/sum/compressed_sum.h      a sum whose values travel encoded
//     src/transport/codecs                    one file for each format of values; this header is their interface
//     kernels/cpu/codec.h                     the loops over the values of a block, which the codecs call
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/slice.h"

namespace eave {

// A codec is stateless, so any thread may use it, and each block is encoded by itself. If a block contains values that
// are not finite, these come back as not finite, and possibly all other values of the block too.
class Codec {
 public:
  static constexpr std::size_t kBlock = 1024;                        // values; a vector's last block may be shorter
  static constexpr std::size_t kMostBytes = kBlock * sizeof(float);  // the longest encoded block
  virtual ~Codec() = default;
  // The encoded size of any block of `count` values, 1 … kBlock.
  virtual std::size_t encoded_bytes(std::size_t count) const = 0;
  virtual void encode(ConstSlice block, std::byte* into) const = 0;
  // Each finite value comes back with its sign or as 0, and no larger than twice its size. (Test: EveryCodec.)
  virtual void decode(Slice block, const std::byte* from) const = 0;
  // Says in a few words of ASCII what encoding drops of a value.
  virtual std::string describe() const = 0;
};

// The encoded size of a vector of `count` values.
std::size_t encoded_bytes(const Codec& codec, std::size_t count);
// A whole vector, block after block.
void encode(const Codec& codec, ConstSlice values, std::byte* into);
void decode(const Codec& codec, Slice values, const std::byte* from);

// Replaces each value by what remains of it after encoding and decoding.
void round_trip(const Codec& codec, Slice values);

// A member of the codec family: one file in src/transport/codecs and one word in its CMake list.
struct CodecKind {
  std::string name;
  std::string summary;
  // Whether each value comes back with an error that is small against itself or against the largest value of its block.
  // Such a codec can also send values that are not differences.
  bool only_rounds = false;
  // Options of this codec. Giving them with another codec is an error.
  std::vector<OptionSpec> options;
  // Throws Error(kUsage) if an option is out of range.
  std::unique_ptr<Codec> (*make)(const OptionValues& values);
};

const std::vector<CodecKind>& codec_kinds();

}  // namespace eave
