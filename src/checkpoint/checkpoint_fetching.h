// Files that rank 0 reads for blind ranks (checkpoint/blind_ranks.h). The bytes travel in rounds, to all blind ranks
// together.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files/input_file.h"
#include "eave/transport.h"

namespace eave {

// Collective. On each blind rank, runs `take` with the bytes of the file `name` in rank 0's `directory`. `name` may
// differ from rank to rank, and "" asks for no file. If rank 0 cannot read the file, the ByteStream throws the Error
// that says why. An exception of `take` is thrown again on that rank alone, after the last round.
void fetch_files(Transport& transport, const std::vector<int>& blind, const std::filesystem::path& directory,
                 const std::string& name, const std::function<void(ByteStream&)>& take);

}  // namespace eave
