#include "app/commands/checkpoint_reading.h"

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"

namespace eave {

CheckpointReading read_or_tell(const std::filesystem::path& directory, std::int64_t step,
                               const std::function<void()>& read) {
  try {
    read();
    return {};
  } catch (const Error& error) {
    const ExitCode code = error.code();
    if (code != ExitCode::kBadData && code != ExitCode::kInputMissing && code != ExitCode::kInputOutput) throw;
    const std::vector<std::int64_t> left = committed_steps(directory);
    if (std::ranges::find(left, step) == left.end()) return {"", true};
    return {message_of(error)};
  }
}

}  // namespace eave
