// Files that rank 0 reads for ranks that do not see them. Their bytes come some at a time, to all such ranks together.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "eave/transport.h"

namespace eave {

// Collective: on blind ranks runs `take` with the bytes of the file `name` in rank 0's `directory`; "": of none. Where
// it cannot be read there, `take` gets the Error that says so. What it throws it throws there, when all are through.
void fetch_files(Transport& transport, const std::vector<int>& blind, const std::filesystem::path& directory,
                 const std::string& name, const std::function<void(ByteStream&)>& take);

}  // namespace eave
