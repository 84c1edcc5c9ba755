// Files of a checkpoint that rank 0 writes for blind ranks (checkpoint/blind_ranks.h). The bytes travel in rounds, from all
// blind ranks together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/durable.h"
#include "eave/transport.h"

namespace eave {

// On rank 0: the files of blind ranks in the checkpoint that is being written.
class ReceivedFiles {
 public:
  ReceivedFiles(OutputFolder directory, std::int64_t step, FileCalls& calls)
      : directory_(std::move(directory)), step_(step), calls_(calls) {}

  // Appends to that rank's file. A failure to write is kept, and finish() throws it.
  void add(int rank, std::string_view bytes);
  bool has_failed() const { return failure_.has_value(); }
  // Flushes the files to the disk. Call once. Throws Error, also the one that add() kept.
  void finish();

 private:
  const OutputFolder directory_;
  const std::int64_t step_;
  FileCalls& calls_;
  std::map<int, OutputFile> files_;
  std::optional<Error> failure_;
};

// Collective. On each blind rank, runs `write`, which writes one file through the FileCalls it is given. Rank 0 adds
// the bytes to `files`. If rank 0 cannot write them, it discards the rest.
void send_files(Transport& transport, const std::vector<int>& blind, const std::function<void(FileCalls&)>& write,
                ReceivedFiles* files);

}  // namespace eave
