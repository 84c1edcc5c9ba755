#include "guard/watchdog_report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "base/files/output_file.h"
#include "base/options/number_text.h"

namespace eave {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string name_rank(int rank, const std::vector<std::string>& hosts) {
  return std::to_string(rank) + " on " + hosts[static_cast<std::size_t>(rank)];
}

std::string describe_place(const Peer& peer) {
  const std::string step = std::to_string(peer.step);
  if (peer.is_in_call) return "is in another call, at step " + step;
  switch (peer.section) {
    case Section::kSetup:
      return "is still setting up";
    case Section::kStep:
      return "is still computing step " + step;
    case Section::kEvaluation:
      return "is still evaluating after step " + step;
    case Section::kCheckpoint:
      break;
  }
  return "is still saving a checkpoint after step " + step;
}

// The rank furthest behind that is in no call. In a call of only some ranks, it is not known which rank they wait for.
std::optional<int> last_that_computes(const Peers& peers) {
  std::optional<int> last;
  for (int rank = 0; rank < peers.size(); ++rank) {
    const Peer& peer = peers[rank];
    if (rank == peers.rank() || !peer.has_answered || peer.is_in_call) continue;
    if (!last || peer.step < peers[*last].step) last = rank;
  }
  return last;
}

// How long all of these ranks are silent, such as "15 s"; "15 s or more" if some are silent for longer.
std::string silence_text(const Peers& peers, std::span<const int> silent) {
  const auto silence = [&](int rank) { return peers[rank].silent; };
  const auto [least, most] = std::ranges::minmax(silent, {}, silence);
  return seconds_text(silence(least)) + (silence(most) - silence(least) < 1 ? "" : " or more");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') result += '\\';
    result += static_cast<unsigned char>(byte) < ' ' ? ' ' : byte;
  }
  return result + '"';
}

std::string nanoseconds_as_seconds(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(nanoseconds) / 1e9);
  return text;
}

std::string number_or_null(std::int64_t number) { return number < 0 ? "null" : std::to_string(number); }

std::string line_of(const Call& call, std::int64_t origin) {
  return "{\"sequence\": " + std::to_string(call.sequence) + ", \"meeting\": " + number_or_null(call.collective) +
         ", \"operation\": " + quoted(name_of(call.verb)) + ", \"bytes\": " + std::to_string(call.bytes) +
         ", \"root\": " + number_or_null(call.root) + ", \"ranks\": " + std::to_string(call.ranks) +
         ", \"start\": " + nanoseconds_as_seconds(call.begin - origin) +
         ", \"end\": " + (call.end == 0 ? "null" : nanoseconds_as_seconds(call.end - origin)) + "}";
}

std::vector<Call> kept_in(const CallRecord& calls) {
  std::vector<Call> kept;
  const std::int64_t begun = calls.begun();
  for (std::int64_t sequence = std::max<std::int64_t>(0, begun - CallRecord::kKept); sequence < begun; ++sequence)
    if (const std::optional<Call> call = calls.call(sequence)) kept.push_back(*call);
  return kept;
}

// The moment from which the times of both lists count.
std::int64_t first_begin(const std::vector<Call>& calls, const std::vector<Call>& on_device) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const auto* each : {&calls, &on_device})
    if (!each->empty()) first = std::min(first, each->front().begin);
  return first;
}

std::string list_of(const std::vector<Call>& calls, std::int64_t origin) {
  std::string text = "[";
  for (const Call& call : calls) text += (&call == calls.data() ? "\n" : ",\n") + line_of(call, origin);
  return text + "\n]";
}

}  // namespace

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

std::string name_ranks(std::span<const int> ranks, const std::vector<std::string>& hosts) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t k = 0; k < std::min(ranks.size(), kMostNamed); ++k)
    text += (k == 0 ? "" : ", ") + name_rank(ranks[k], hosts);
  return ranks.size() > kMostNamed ? text + " and " + std::to_string(ranks.size() - kMostNamed) + " more" : text;
}

std::string describe_call(const Call& call) {
  if (call.sequence < 0) return "nothing, for it was through (no call)";
  return std::string("a ") + name_of(call.verb) + " of " + count_text(call.bytes, "byte") +
         (call.verb == Operation::Verb::kBroadcast ? " from rank " + std::to_string(call.root) : "") +
         (call.on_device != 0 ? " between GPUs" : "") + " (call " + std::to_string(call.sequence) + ")";
}

std::string describe_wait(const Peers& peers, std::span<const int> silent, const Call& call, double seconds,
                          const std::vector<std::string>& hosts) {
  if (!silent.empty())
    return name_ranks(silent, hosts) + (silent.size() == 1 ? " has" : " have") + " not answered for " +
           silence_text(peers, silent);
  const bool follows = call.sequence < -1;
  const std::vector<int> elsewhere = follows ? std::vector{0} : peers.elsewhere(call.collective);
  if ((call.collective < 0 && !follows) || elsewhere.empty()) {
    const std::string mine = "all ranks answer, and rank " + name_rank(peers.rank(), hosts) + " is in " +
                             describe_call(call) + " for " + seconds_text(seconds) + ": ";
    const std::optional<int> last = last_that_computes(peers);
    if (!last) return mine + "the network may be too slow";
    return mine + "it may wait for rank " + name_rank(*last, hosts) + ", which " + describe_place(peers[*last]) +
           ", or the network may be too slow";
  }
  const int first = elsewhere.front();
  std::string text = "rank " + name_rank(first, hosts) + " " + describe_place(peers[first]);
  if (elsewhere.size() > 1) text += ", and " + std::to_string(elsewhere.size() - 1) + " more are not there yet";
  return text + ", for " + seconds_text(peers.since_any_moved());
}

std::string describe_difference(int rank, const Call& mine, int other, const Call& theirs,
                                const std::vector<std::string>& hosts) {
  return "the ranks are out of step: at meeting " + std::to_string(mine.collective) + " of all, rank " +
         name_rank(rank, hosts) + " called " + describe_call(mine) + ", rank " + name_rank(other, hosts) + " " +
         describe_call(theirs);
}

std::string calls_as_json(const RankCalls& calls, int rank, const std::string& host, const std::string& reason) {
  const std::vector<Call> of_thread = kept_in(calls.of_thread());
  const std::shared_ptr<const CallRecord> device = calls.of_device();
  const std::vector<Call> of_device = device ? kept_in(*device) : std::vector<Call>();
  const std::int64_t origin = first_begin(of_thread, of_device);
  std::string text = "{\"format\": 1, \"rank\": " + std::to_string(rank) + ", \"host\": " + quoted(host) +
                     ", \"reason\": " + quoted(reason) + ", \"calls\": " + list_of(of_thread, origin);
  if (device) text += ",\n\"device_calls\": " + list_of(of_device, origin);
  return text + "}\n";
}

bool write_calls(const std::string& directory, int rank, const std::string& json, FileCalls& calls) noexcept try {
  const OutputPath path = OutputFolder(directory) / ("calls-rank-" + std::to_string(rank) + ".json");
  const Descriptor file(calls.create(path, FileCalls::Existing::kReplace));
  std::string_view left = json;
  while (file.is_open() && !left.empty()) {
    const std::ptrdiff_t count = calls.write(file.number(), left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  return file.is_open();
} catch (...) {
  return false;
}

}  // namespace eave
