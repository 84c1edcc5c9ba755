// What travels in fewer bytes between replicas, and what is dropped of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eave/communicator.h"
#include "transport/codec.h"

namespace eave {

// --compression none|…, where the choices of codecs are still to be added.
OptionSpec compression_option();

// The codec that is asked for, for sums among all ranks; nullptr: none, or a single rank, which is warned of, as are
// sums that hosts with many ranks send more of than without a codec. Throws Error(kUsage) for its options.
std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context);
// `sums`: the ranks of each sum.
std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context, const std::vector<std::vector<int>>& sums);
// The same for a method that sends values which are no differences. Throws Error(kUsage) for a codec that does more
// than to round; `reason` says why, after "--compression …: ".
std::shared_ptr<const Codec> rounding_codec_in(const CommunicatorContext& context, const std::string& reason);

// "int8: 1.004 bytes per value instead of 4 (255 steps, a scale per 1024 values)"
std::string describe_codec(const Codec& codec);

// A sum that a method takes again and again of the same vector: its compression, with what that has dropped so far.
// Without a codec it keeps nothing, and values go as they are.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(std::shared_ptr<const Codec> codec = nullptr) : codec_(std::move(codec)) {}

  explicit operator bool() const { return codec_ != nullptr; }
  // Allocates the residual, in the host's memory: 0.
  void begin(std::size_t size);
  // Of the whole vector, or of a part that begins with a block.
  Compression compression();
  Compression compression(std::size_t begin, std::size_t size);
  // What was dropped is not sent any more.
  void forget();
  // What the other one has dropped of a vector of the same size is sent with this one's too.
  void add(ErrorFeedback& other);
  // Frees the residual, until the next begin.
  void end() { residual_ = Buffer(); }
  // For checkpoints.
  void append_state(std::vector<Slice>& state);
  // Lines of the card, each after a line's end; "" without a codec. `sent`: what x_i is here, "d_i".
  std::string describe(const std::string& sent) const;

 private:
  std::shared_ptr<const Codec> codec_;
  Buffer residual_;
};

}  // namespace eave
