// Tells a damaged checkpoint from one that its run removed while it was read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace eave {

// The outcome of reading a checkpoint. At most one of the two is set.
struct CheckpointReading {
  std::string damage;        // the message of the error; "": there was none
  bool was_removed = false;  // a run that goes on keeps only its newest checkpoints
};

// Calls `read`, which reads the checkpoint of `step` in `directory`. If it throws Error of kBadData, kInputMissing or
// kInputOutput (a disk that fails, or a file that another host removed), looks whether the checkpoint is still there.
// Other errors pass, since they say nothing about the checkpoint.
CheckpointReading read_or_tell(const std::filesystem::path& directory, std::int64_t step,
                               const std::function<void()>& read);

}  // namespace eave
