#include "c/run/failure_report.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "transport/core/failure.h"

namespace eave {
namespace {

// Begins after the kinds of CallWatch. The numbers of kPiece: exit code, size of the whole text, then a piece of it.
enum ReportKind : std::int64_t { kPiece = 48, kRecorded };

constexpr std::size_t kBefore = 2, kMostText = 1000;
constexpr std::size_t kPieceBytes =
    sizeof(std::int64_t) * (std::tuple_size_v<decltype(ControlMessage::numbers)> - kBefore);
constexpr std::chrono::milliseconds kMostForRecord{300};

}  // namespace

FailureReport::FailureReport(ControlChannel& channel, int rank, std::function<void(const Error&)> record)
    : channel_(channel), rank_(rank), record_(std::move(record)) {}

void FailureReport::tell(const Error& error) noexcept try {
  if (rank_ == 0) return;
  std::unique_lock lock(mutex_);
  untold_ = error;
  changed_.wait_for(lock, kMostForRecord, [this] { return is_recorded_; });
} catch (...) {  // no memory is left
}

// The channel fails only if the network does.
void FailureReport::tick(double) try {
  const std::lock_guard lock(mutex_);
  if (const std::optional<Error> error = std::exchange(untold_, std::nullopt)) send(*error);
  std::erase_if(is_recording_done_, [this](const auto& each) {
    const bool is_done = *each.second;
    if (is_done) channel_.post(each.first, {kRecorded, {}});
    return is_done;
  });
} catch (...) {
}

void FailureReport::send(const Error& error) {
  std::string text = error.what();
  if (text.size() > kMostText) {
    std::size_t end = kMostText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // within a character of UTF-8
    text = text.substr(0, end) + " ...";
  }
  for (std::size_t at = 0; at < text.size(); at += kPieceBytes) {
    ControlMessage message{kPiece, {static_cast<std::int64_t>(error.code()), static_cast<std::int64_t>(text.size())}};
    std::memcpy(message.numbers.data() + kBefore, text.data() + at, std::min(kPieceBytes, text.size() - at));
    channel_.post(0, message);
  }
}

bool FailureReport::handle(int from, const ControlMessage& message) {
  if (message.kind == kRecorded) {
    const std::lock_guard lock(mutex_);
    is_recorded_ = true;
    changed_.notify_all();
  }
  if (message.kind != kPiece) return message.kind == kRecorded;
  std::string& text = coming_[from];
  const auto size = static_cast<std::size_t>(message.numbers[1]);
  text.append(reinterpret_cast<const char*>(message.numbers.data() + kBefore), kPieceBytes);
  if (text.size() < size) return true;
  record(from, Error(static_cast<ExitCode>(message.numbers[0]), text.substr(0, size)));
  coming_.erase(from);
  return true;
}

void FailureReport::record(int from, const Error& error) try {
  auto is_done = std::make_shared<std::atomic<bool>>(false);
  std::thread([record = record_, error, is_done] {
    const std::optional<Failure> failure = failure_of([&] { record(error); });  // nobody can be told of it
    *is_done = true;
  }).detach();
  is_recording_done_[from] = std::move(is_done);
} catch (const std::system_error&) {  // no thread is left, so the failure is not recorded
}

}  // namespace eave
