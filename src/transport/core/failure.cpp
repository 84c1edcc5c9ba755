#include "transport/core/failure.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include "base/files/file_errors.h"
#include "base/host.h"

namespace eave {

Failure describe_failure(std::exception_ptr exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const AgreedError& error) {
    return {error.code(), message_of(error), true};
  } catch (const Error& error) {
    return {error.code(), message_of(error), false};
  } catch (const std::bad_alloc&) {
    const std::int64_t available = available_memory_bytes();
    return {ExitCode::kResource,
            "out of memory" +
                (available < 0 ? std::string() : ": " + std::to_string(available >> 20) + " MiB are free") +
                "; a smaller batch or model, or fewer ranks on this machine, need less",
            false};
  } catch (const std::filesystem::filesystem_error& error) {
    const bool is_missing = error.code() == std::errc::no_such_file_or_directory;
    return {is_missing ? ExitCode::kInputMissing : ExitCode::kInputOutput, describe_filesystem_error(error), false};
  } catch (const std::system_error& error) {  // a thread could not be started
    const bool is_resource =
        error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory;
    return {is_resource ? ExitCode::kResource : ExitCode::kInternal, "system error: " + message_of(error), false};
  } catch (const std::exception& error) {
    return {ExitCode::kInternal, "internal error: " + message_of(error), false};
  } catch (...) {
    return {ExitCode::kInternal, "internal error: an exception of unknown type", false};
  }
}

std::optional<Failure> failure_of(const std::function<void()>& body) noexcept {
  try {
    body();
    return std::nullopt;
  } catch (...) {
    return describe_failure(std::current_exception());
  }
}

namespace {

thread_local std::optional<Failure> last_printed;

}  // namespace

std::optional<Failure> printed_failure() { return last_printed; }

void print_failure(const Failure& failure, int rank, int ranks) noexcept {
  last_printed = failure;
  std::string line = "eave: ";
  if (ranks > 1 && !failure.agreed) line += "rank " + std::to_string(rank) + " on " + host_name() + ": ";
  line += printable_lines(failure.message) + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t n = write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
}

namespace {

constexpr std::chrono::milliseconds kTurn{250};  // ending all ranks takes some 50 ms
constexpr int kMostTurns = 6;

}  // namespace

std::chrono::milliseconds turn_of(int rank) { return kTurn * std::min(rank, kMostTurns); }

void wait_for_turn(int rank) {
  std::signal(SIGTERM, SIG_DFL);
  std::this_thread::sleep_for(turn_of(rank));
}

int run_rank(Transport& transport, const std::function<void(Transport&)>& body) {
  const std::optional<Failure> failure = failure_of([&] { body(transport); });
  if (!failure) return 0;
  if (!failure->agreed) wait_for_turn(transport.rank());
  if (!failure->agreed || transport.rank() == 0) print_failure(*failure, transport.rank(), transport.size());
  if (!failure->agreed) transport.abort(failure->code);
  return static_cast<int>(failure->code);
}

}  // namespace eave
