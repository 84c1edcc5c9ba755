// Files of a checkpoint that rank 0 writes for ranks that do not see its directory. Their bytes come some at a time,
// from all such ranks together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/durable.h"
#include "eave/transport.h"

namespace eave {

// On rank 0: the files of other ranks in the checkpoint that is being written.
class ReceivedFiles {
 public:
  ReceivedFiles(OutputFolder directory, std::int64_t step, FileCalls& calls)
      : directory_(std::move(directory)), step_(step), calls_(calls) {}

  // What follows in that rank's file. What cannot be written is kept for finish().
  void add(int rank, std::string_view bytes);
  bool has_failed() const { return failure_.has_value(); }
  // Once: flushes them to the disk. Throws Error, of add() too.
  void finish();

 private:
  const OutputFolder directory_;
  const std::int64_t step_;
  FileCalls& calls_;
  std::map<int, OutputFile> files_;
  std::optional<Error> failure_;
};

// Collective: on blind ranks runs `write`, which writes one file by the calls that it is given; rank 0 adds it to
// `files`. Where those fail, what else is written comes to nothing.
void send_files(Transport& transport, const std::vector<int>& blind, const std::function<void(FileCalls&)>& write,
                ReceivedFiles* files);

}  // namespace eave
