#include "checkpoint/checkpoint_search.h"

#include <algorithm>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checkpoint_transfer.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::int64_t>& steps) {
  std::string text;
  for (const std::int64_t step : steps) text += std::to_string(step) + " ";
  return text;
}

std::vector<std::int64_t> steps_in(const std::string& text) {
  std::vector<std::int64_t> steps;
  for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1) steps.push_back(std::stoll(text.substr(at)));
  return steps;
}

// Checks this rank's share of the files. The ranks that see them divide them. Returns what is wrong; "" if they are
// whole.
std::string damage_in(const fs::path& directory, std::int64_t step, const Transport& transport,
                      const std::vector<int>& without_access, Manifest& manifest) {
  if (lacks_access(without_access, transport.rank())) return "";
  const auto without_access_before =
      std::ranges::lower_bound(without_access, transport.rank()) - without_access.begin();
  const int first = transport.rank() - static_cast<int>(without_access_before);
  const int readers = transport.size() - static_cast<int>(without_access.size());
  try {
    manifest = read_manifest(directory, step);
    for (int rank = first; rank < std::ssize(manifest.files); rank += readers) {
      read_rank(directory, manifest, rank, nullptr);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Collective. Returns the first rank's text that is not empty; "" if all are empty.
std::string first_of(Transport& transport, const std::string& mine) {
  const std::vector<std::string> texts = transport.gather(mine);
  const auto first = std::ranges::find_if(texts, [](const std::string& each) { return !each.empty(); });
  return transport.broadcast_text(first == texts.end() ? "" : *first);
}

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint(Transport& transport, const fs::path& directory,
                                               const std::vector<int>& without_access, const std::string& otherwise) {
  std::string mine;
  agree(transport, [&] {
    if (transport.rank() != 0) return;
    put_back_replaced_checkpoints(directory, system_file_calls());
    mine = joined(committed_steps(directory));
  });
  std::vector<std::int64_t> steps = steps_in(transport.broadcast_text(mine));
  if (steps.empty()) return std::nullopt;
  std::ranges::reverse(steps);
  FoundCheckpoint found;
  for (const std::int64_t step : steps) {
    const std::string damage =
        first_of(transport, damage_in(directory, step, transport, without_access, found.manifest));
    if (damage.empty()) {
      if (!without_access.empty()) found.manifest = read_manifest_on_all(transport, without_access, directory, step);
      return found;
    }
    found.passed_over.push_back(damage);
  }
  std::string message = "no checkpoint in " + directory.string() + " is whole";
  for (const std::string& each : found.passed_over) message += "; " + each;
  throw AgreedError(ExitCode::kBadData, message + "; " + otherwise);
}

}  // namespace eave
