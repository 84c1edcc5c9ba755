#include "communicator/support/compression.h"

#include <algorithm>
#include <compare>
#include <map>
#include <span>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "transport/core/transport_base.h"

namespace eave {
namespace {

constexpr std::string_view kOption = "compression", kNone = "none";

// How much a host sends in a compressed sum.
struct Load {
  double times = 0;  // multiple of the bytes that it sends without a codec
  int ranks = 0;
  auto operator<=>(const Load&) const = default;
};

// The kind of codec that --compression names; nullptr for none.
const CodecKind* kind_in(const CommunicatorContext& context) {
  if (context.asked_for_codec != nullptr) *context.asked_for_codec = true;
  if (!asks_for_compression(context.values)) return nullptr;
  return &find_kind(codec_kinds(), context.values.text(kOption));
}

// The load of the host that sends most in a sum over `ranks`. Without a codec each of h hosts first adds up its own
// ranks and then sends 2(h−1)/h·M bytes. Compressed sums go directly between all pairs of the p ranks. So a host with r
// ranks sends 2r(p−r)/p times the encoded size of M.
Load load_of(const Codec& codec, std::span<const int> ranks, const std::vector<std::string>& hosts) {
  std::map<std::string, int> ranks_of;
  for (const int rank : ranks) ++ranks_of[hosts[static_cast<std::size_t>(rank)]];
  const double encoded = static_cast<double>(codec.encoded_bytes(Codec::kBlock)) / (4.0 * Codec::kBlock);
  const auto p = static_cast<double>(ranks.size()), h = static_cast<double>(ranks_of.size());
  Load most;
  if (h == 1) return most;
  for (const auto& [host, r] : ranks_of) most = std::max(most, {encoded * (r * (p - r) * h) / (p * (h - 1)), r});
  return most;
}

// Warns if a host sends more than without a codec. Compressed sums go directly between all ranks; other sums are added
// up within each host first.
void warn_of_many_ranks(const Codec& codec, const CommunicatorContext& context,
                        const std::vector<std::vector<int>>& sums) {
  if (context.hosts.empty() || context.transport.name().find("flat") != std::string::npos) return;
  Load most;
  for (const std::vector<int>& ranks : sums) most = std::max(most, load_of(codec, ranks, context.hosts));
  if (most.times <= 1 || context.transport.rank() != 0) return;
  context.warnings.push_back("--compression: a host with " + std::to_string(most.ranks) + " ranks sends " +
                             number_text(most.times) +
                             " times what it sends without it, because only uncompressed sums are added up within a "
                             "host first; leave it out, or use fewer ranks per host");
}

std::shared_ptr<const Codec> make_codec(const CodecKind& kind, const CommunicatorContext& context) {
  std::shared_ptr<const Codec> codec = kind.make(context.values);
  if (context.transport.size() > 1) return codec;
  context.warnings.push_back("--compression " + kind.name + " changes nothing: one rank exchanges nothing");
  return nullptr;
}

}  // namespace

OptionSpec compression_option() {
  return {std::string(kOption),
          OptionType::kText,
          std::string(kNone),
          "format of values on the network; the start and evaluations are not compressed",
          {std::string(kNone)}};
}

bool asks_for_compression(const OptionValues& values) {
  return values.entries().contains(kOption) && values.text(kOption) != kNone;
}

std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context) {
  return codec_in(context, {all_ranks(context.transport.size())});
}

std::shared_ptr<const Codec> codec_in(const CommunicatorContext& context, const std::vector<std::vector<int>>& sums) {
  const CodecKind* const kind = kind_in(context);
  const std::shared_ptr<const Codec> codec = kind ? make_codec(*kind, context) : nullptr;
  if (codec) warn_of_many_ranks(*codec, context, sums);
  return codec;
}

std::shared_ptr<const Codec> rounding_codec_in(const CommunicatorContext& context, const std::string& reason) {
  const CodecKind* const kind = kind_in(context);
  if (!kind) return nullptr;
  if (kind->only_rounds) return make_codec(*kind, context);
  std::string others;
  for (const CodecKind& other : codec_kinds()) {
    if (other.only_rounds) others += (others.empty() ? "" : " or ") + other.name;
  }
  refuse_option(context.values, std::string(kOption), reason + "; give " + others);
}

std::string describe_codec(const Codec& codec) {
  const double bytes = static_cast<double>(codec.encoded_bytes(Codec::kBlock)) / Codec::kBlock;
  return number_text(bytes) + " bytes per value instead of 4: " + codec.describe();
}

void ErrorFeedback::begin(std::size_t size) {
  if (codec_) residual_ = Buffer(size);
}

Compression ErrorFeedback::compression() { return compression(0, residual_.size()); }

Compression ErrorFeedback::compression(std::size_t begin, std::size_t size) {
  if (!codec_) return {};
  EAVE_CHECK(begin % Codec::kBlock == 0, "a part begins with a block");
  return {codec_.get(), residual_.slice().subspan(begin, size), begin / Codec::kBlock};
}

void ErrorFeedback::forget() { std::ranges::fill(residual_.slice(), 0.0f); }

void ErrorFeedback::add(ErrorFeedback& other) {
  EAVE_CHECK(residual_.size() == other.residual_.size(), "residuals of vectors of one size");
  cpu_device().add_scaled(residual_.slice(), 1, other.residual_.slice());
}

std::vector<Slice> ErrorFeedback::state() { return codec_ ? std::vector{residual_.slice()} : std::vector<Slice>(); }

void ErrorFeedback::append_state(std::vector<Slice>& state) {
  if (codec_) state.push_back(residual_.slice());
}

std::string ErrorFeedback::describe(const std::string& sent) const {
  if (!codec_) return "";
  return "\ncompressed, " + describe_codec(*codec_) + "; with error feedback: v_i = " + sent +
         " + e_i, Q(v_i) goes to rank o of the block, e_i <- v_i - Q(v_i); s = v_o + sum of the other Q(v_i) goes to "
         "all "
         "as Q(s), e_o <- s - Q(s)";
}

}  // namespace eave
