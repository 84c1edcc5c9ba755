#include "guard/calls_file.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

namespace eave {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') result += '\\';
    result += static_cast<unsigned char>(byte) < ' ' ? ' ' : byte;
  }
  return result + '"';
}

std::string seconds_text(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(nanoseconds) / 1e9);
  return text;
}

std::string number_or_null(std::int64_t number) { return number < 0 ? "null" : std::to_string(number); }

std::string line_of(const Call& call, std::int64_t origin) {
  return "{\"sequence\": " + std::to_string(call.sequence) + ", \"meeting\": " + number_or_null(call.meeting) +
         ", \"operation\": " + quoted(name_of(call.verb)) + ", \"bytes\": " + std::to_string(call.bytes) +
         ", \"root\": " + number_or_null(call.root) + ", \"ranks\": " + std::to_string(call.ranks) +
         ", \"start\": " + seconds_text(call.begin - origin) +
         ", \"end\": " + (call.end == 0 ? "null" : seconds_text(call.end - origin)) + "}";
}

}  // namespace

std::string calls_as_json(const CallRecord& calls, int rank, const std::string& host, const std::string& reason) {
  std::vector<Call> kept;
  const std::int64_t begun = calls.begun();
  for (std::int64_t sequence = std::max<std::int64_t>(0, begun - CallRecord::kKept); sequence < begun; ++sequence)
    if (const std::optional<Call> call = calls.call(sequence)) kept.push_back(*call);
  std::string text = "{\"rank\": " + std::to_string(rank) + ", \"host\": " + quoted(host) +
                     ", \"reason\": " + quoted(reason) + ", \"calls\": [";
  for (const Call& call : kept) text += (&call == kept.data() ? "\n" : ",\n") + line_of(call, kept.front().begin);
  return text + "\n]}\n";
}

bool write_calls(const std::string& directory, int rank, const std::string& json) noexcept try {
  std::ofstream file(directory + "/calls-rank-" + std::to_string(rank) + ".json");
  file << json;
  file.close();
  return file.good();
} catch (...) {
  return false;
}

}  // namespace eave
