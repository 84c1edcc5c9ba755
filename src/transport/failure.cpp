#include "transport/failure.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>

#include "base/host.h"
#include "eave/transport.h"

namespace eave {

Failure describe_failure(std::exception_ptr exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const AgreedError& error) {
    return {error.code(), error.what(), true};
  } catch (const Error& error) {
    return {error.code(), error.what(), false};
  } catch (const std::bad_alloc&) {
    return {ExitCode::kResource, "out of memory; a smaller batch or model needs less", false};
  } catch (const std::exception& error) {
    return {ExitCode::kInternal, std::string("internal error: ") + error.what(), false};
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

void print_failure(const Failure& failure, int rank, int ranks) noexcept {
  std::string line = "eave: ";
  if (ranks > 1 && !failure.agreed) line += "rank " + std::to_string(rank) + " on " + host_name() + ": ";
  line += failure.message + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t n = write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
}

}  // namespace eave
