#include "guard/calls_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/files/file_calls.h"

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
  std::string text = "{\"format\": 1, \"rank\": " + std::to_string(rank) + ", \"host\": " + quoted(host) +
                     ", \"reason\": " + quoted(reason) + ", \"calls\": [";
  for (const Call& call : kept) text += (&call == kept.data() ? "\n" : ",\n") + line_of(call, kept.front().begin);
  return text + "\n]}\n";
}

bool write_calls(const std::string& directory, int rank, const std::string& json) noexcept try {
  FileCalls& calls = system_file_calls();
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
