#include "checkpoint/checkpoint_files.h"

#include <exception>
#include <string>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_transfer.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

Manifest read_manifest_on_all(Transport& transport, const std::vector<int>& without_access,
                              const std::filesystem::path& directory, std::int64_t step) {
  Manifest manifest;
  const bool sees = !lacks_access(without_access, transport.rank());
  agree(transport, [&] {
    if (sees) manifest = read_manifest(directory, step);
  });
  if (without_access.empty()) return manifest;
  const std::string text = transport.broadcast_text(transport.rank() == 0 ? encode_manifest(manifest) : "");
  return sees ? manifest : parse_manifest(text);
}

SavedRank CheckpointFiles::read(int file) {
  SavedRank saved;
  std::exception_ptr failure;
  if (!without_access_.empty()) {
    const bool is_named = file >= 0 && file < std::ssize(manifest_.files);
    const std::string name = is_named ? manifest_.files[static_cast<std::size_t>(file)].name : "";
    try {
      fetch_files(
          transport_, without_access_, checkpoint_path(directory_, manifest_.step), name,
          [&](ByteStream& source) { saved.header = read_rank(directory_, manifest_, file, &saved.body, &source); });
    } catch (...) {
      failure = std::current_exception();
    }
  }
  agree(transport_, [&] {
    if (failure) std::rethrow_exception(failure);
    EAVE_CHECK(file < std::ssize(manifest_.files), "the checkpoint has a file of each rank");
    if (file >= 0 && !lacks_access(without_access_, transport_.rank()))
      saved.header = read_rank(directory_, manifest_, file, &saved.body);
  });
  return saved;
}

std::vector<CheckpointHeader> CheckpointFiles::headers() {
  std::vector<CheckpointHeader> headers;
  const bool is_first = transport_.rank() == 0;
  agree(transport_, [&] {
    for (int file = 0; is_first && file < std::ssize(manifest_.files); ++file)
      headers.push_back(read_rank(directory_, manifest_, file, nullptr));
  });
  for (std::size_t file = 0; file < manifest_.files.size(); ++file) {
    const std::string text = transport_.broadcast_text(is_first ? encode_checkpoint_header(headers[file]) : "");
    if (!is_first) headers.push_back(parse_checkpoint_header(text, manifest_.files[file].bytes));
  }
  return headers;
}

}  // namespace eave
