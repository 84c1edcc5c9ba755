// Compression of what replicas exchange, and the residual that it leaves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eave/communicator.h"
#include "transport/codecs/codec.h"

namespace eave {

// --compression none|…. The caller adds the names of the codecs to its choices.
OptionSpec compression_option();

// Whether --compression names a codec. Callers other than the program may not have the option.
bool asks_for_compression(const OptionValues& values);

// The codec that --compression asks for, for sums over all ranks; nullptr if it asks for none. If the job has one rank,
// warns and returns nullptr. Warns if some host has so many ranks that it sends more bytes than without a codec. Throws
// Error(kUsage) for wrong options of the codec.
std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context);
// The same for sums over fewer ranks: `sums` lists the ranks of each sum.
std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context, const std::vector<std::vector<int>>& sums);
// The same for a method that sends values which are no differences. Throws Error(kUsage) if the codec does more than
// round. The message is "--compression …: " and `reason`.
std::shared_ptr<const Codec> rounding_codec_in(const CommunicatorContext& context, const std::string& reason);

// "1.004 bytes per value instead of 4: 255 steps, a scale per 1024 values"
std::string describe_codec(const Codec& codec);

// The compression of one vector that a method sums in each exchange, with the residual: what compression has dropped so
// far. Without a codec it keeps nothing, and values are not compressed.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(std::shared_ptr<const Codec> codec = nullptr) : codec_(std::move(codec)) {}

  explicit operator bool() const { return codec_ != nullptr; }
  // Allocates the residual in host memory and sets it to 0.
  void begin(std::size_t size);
  // For the whole vector, or for a part whose `begin` is a multiple of Codec::kBlock.
  Compression compression();
  Compression compression(std::size_t begin, std::size_t size);
  // Sets the residual to 0: what was dropped will never be sent.
  void forget();
  // Adds the residual of `other`, a vector of the same size, to this one.
  void add(ErrorFeedback& other);
  // Frees the residual, until the next begin.
  void end() { residual_ = Buffer(); }
  // The residual, for checkpoints: one slice, or none without a codec.
  std::vector<Slice> state();
  void append_state(std::vector<Slice>& state);
  // Lines for the card, each with a line break before it; "" without a codec. `sent` names the summed value, for
  // example "d_i".
  std::string describe(const std::string& sent) const;

 private:
  std::shared_ptr<const Codec> codec_;
  Buffer residual_;
};

}  // namespace eave
