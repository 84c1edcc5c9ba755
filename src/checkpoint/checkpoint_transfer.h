// Files of checkpoints that travel between rank 0 and ranks without access to its directory of checkpoints, such as
// ranks on hosts that do not share its file system. Rank 0 reads and writes their files. The bytes travel in rounds, of
// all these ranks together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "eave/transport.h"

namespace eave {

// Whether a rank is one of those without access. `without_access` is ascending and does not contain rank 0.
inline bool lacks_access(const std::vector<int>& without_access, int rank) {
  return std::ranges::binary_search(without_access, rank);
}

// On rank 0: the files of ranks without access in the checkpoint that is being written.
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

// Collective. On each rank without access, runs `write`, which writes one file through the FileCalls it is given. Rank
// 0 adds the bytes to `files`. If rank 0 cannot write them, it discards the rest.
void send_files(Transport& transport, const std::vector<int>& without_access,
                const std::function<void(FileCalls&)>& write, ReceivedFiles* files);

// Collective. On each rank without access, runs `take` with the bytes of the file `name` in rank 0's `directory`.
// `name` may differ from rank to rank, and "" asks for no file. If rank 0 cannot read the file, the ByteStream throws
// the Error that says why. An exception of `take` is thrown again on that rank alone, after the last round.
void fetch_files(Transport& transport, const std::vector<int>& without_access, const std::filesystem::path& directory,
                 const std::string& name, const std::function<void(ByteStream&)>& take);

}  // namespace eave
