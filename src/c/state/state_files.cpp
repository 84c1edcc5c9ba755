#include "c/state/state_files.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "c/stderr_message.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checkpoint_search.h"
#include "checkpoint/checkpoint_transfer.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagicOfState = "EAVERANK";
constexpr std::uint32_t kVersionOfState = 1;

struct Prelude {
  std::uint32_t version = kVersionOfState, rank = 0;
  std::uint64_t manifest_bytes = 0;
};
constexpr std::size_t kPrelude = sizeof(Prelude);

// A file that is written into memory.
class MemoryFile final : public SingleFileCalls {
 public:
  std::ptrdiff_t write(int, std::string_view bytes) override {
    content += bytes;
    return static_cast<std::ptrdiff_t>(bytes.size());
  }

  std::string content;
};

class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : size_(bytes.size()), rest_(bytes) {}
  std::uint64_t size() override { return size_; }
  void read(char* into, std::uint64_t count) override {
    if (count > rest_.size()) throw Error(ExitCode::kInputOutput, "the state ends too early");
    std::memcpy(into, rest_.data(), count);
    rest_.remove_prefix(count);
  }

 private:
  const std::uint64_t size_;
  std::string_view rest_;
};

std::string describe_file(const StoredFile& file) {
  return file.name + ' ' + std::to_string(file.bytes) + ' ' + std::to_string(file.hash.high) + ' ' +
         std::to_string(file.hash.low);
}

StoredFile file_in(const std::string& text) {
  StoredFile file;
  std::istringstream(text) >> file.name >> file.bytes >> file.hash.high >> file.hash.low;
  return file;
}

// Collective. The manifest is complete on rank 0 only.
Manifest gather_manifest(Transport& transport, const StateToSave& state, const StoredFile& mine) {
  Manifest manifest{state.taken.header().progress.steps, state.taken.header().progress.samples, state.identity};
  manifest.notes[kWorkers] = std::to_string(state.taken.header().ranks);
  manifest.notes[kStatistics] = "1";
  for (const std::string& text : transport.gather(describe_file(mine))) manifest.files.push_back(file_in(text));
  return manifest;
}

// A state that a rank was given as bytes.
struct GivenState {
  int rank = 0;
  Manifest manifest;
  std::string_view manifest_text, file;

  SavedRank read() const {
    MemoryStream stream(file);
    SavedRank state;
    state.header = read_rank("the state", manifest, rank, &state.body, &stream);
    return state;
  }
};

GivenState parse_state(std::string_view bytes) {
  const auto refuse = [](const std::string& why) { throw Error(ExitCode::kBadData, "a state to restore: " + why); };
  Prelude prelude;
  if (!bytes.starts_with(kMagicOfState) || bytes.size() < kMagicOfState.size() + kPrelude)
    refuse("it is not a state that averager.state_dict() or eave_state wrote");
  std::memcpy(&prelude, bytes.data() + kMagicOfState.size(), kPrelude);
  bytes.remove_prefix(kMagicOfState.size() + kPrelude);
  if (prelude.version != kVersionOfState)
    refuse("its format is version " + std::to_string(prelude.version) + ", and this eave reads 1");
  if (prelude.manifest_bytes > bytes.size()) refuse("it is cut off");
  GivenState given;
  given.manifest_text = bytes.substr(0, prelude.manifest_bytes);
  given.file = bytes.substr(prelude.manifest_bytes);
  try {
    given.manifest = parse_manifest(given.manifest_text);
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (prelude.rank >= given.manifest.files.size()) refuse("its rank number is not among the ranks that saved");
  given.rank = static_cast<int>(prelude.rank);
  return given;
}

// The text that the ranks compare, to see whether they were given states of the same save.
std::string describe_given(const std::vector<GivenState>& given) {
  if (given.empty()) return "no state";
  return "a state of step " + std::to_string(given.front().manifest.step) + " (" +
         hash_of(given.front().manifest_text).text().substr(0, 8) + ")";
}

void refuse_different_saves(Transport& transport, const std::vector<GivenState>& given) {
  const std::vector<std::string> all = transport.gather(describe_given(given));
  let_first_judge(transport, [&] {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank] == all[0] && all[0] != "no state") continue;
      const std::string other = rank == 0 ? "" : ", rank 0 " + all[0];
      throw Error(ExitCode::kConfiguration, "rank " + std::to_string(rank) + " was given " + all[rank] + other +
                                                "; give each rank what it saved, all from the same save");
    }
  });
}

const GivenState& state_of(const std::vector<GivenState>& given, int rank) {
  const auto found = std::ranges::find(given, rank, &GivenState::rank);
  if (found != given.end()) return *found;
  const Manifest& manifest = given.front().manifest;
  throw Error(ExitCode::kUsage, "the state of rank " + std::to_string(rank) + " is missing among the " +
                                    count_text(std::ssize(given), "state") +
                                    " given: " + count_text(std::ssize(manifest.files), "rank") +
                                    " saved; with the same number of ranks, give each rank its own state; with another "
                                    "number, give every rank all of them");
}

// Without a slash at its end, so that its parent is the folder that contains it.
fs::path place_of(const fs::path& directory) {
  if (directory.empty()) throw Error(ExitCode::kUsage, "the directory to save to has no name");
  return (fs::absolute(directory) / "").parent_path();
}

// Whether another rank sees the directory that rank 0 has just made.
bool sees(const fs::path& directory) {
  constexpr std::chrono::seconds kLongest{3};
  const auto end = std::chrono::steady_clock::now() + kLongest;
  std::error_code error;
  while (!fs::exists(directory, error)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Collective. The ranks that do not see this file or directory of rank 0, ascending.
std::vector<int> ranks_without(Transport& transport, const fs::path& path) {
  const std::vector<std::string> all = transport.all_gather(transport.rank() == 0 || sees(path) ? "sees" : "");
  std::vector<int> without;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].empty()) without.push_back(static_cast<int>(rank));
  return without;
}

// So that a loss of power takes no directory that is new. If the directory above may not be read, the system writes its
// names when it likes.
void flush_above(const fs::path& directory, FileCalls& calls) {
  const fs::path above = directory.parent_path();
  if (::access(above.c_str(), R_OK) == 0) flush_directory(above, calls);
}

StoredFile write_rank(Transport& transport, const OutputFolder& directory, const StateToSave& state,
                      const std::vector<int>& without_access, FileCalls& calls) {
  const std::int64_t step = state.taken.header().progress.steps;
  const std::string name = rank_file_name(transport.rank());
  StoredFile mine;
  std::optional<ReceivedFiles> received;
  if (!without_access.empty()) {
    if (transport.rank() == 0) received.emplace(directory, step, calls);
    send_files(
        transport, without_access,
        [&](FileCalls& sent) { mine = write_checkpoint_file(name, state.taken.header(), state.taken.values(), sent); },
        received ? &*received : nullptr);
  }
  agree(transport, [&] {
    if (received) received->finish();
    if (!lacks_access(without_access, transport.rank()))
      mine = write_checkpoint_file(partial_folder(directory, step) / name, state.taken.header(), state.taken.values(),
                                   calls);
  });
  return mine;
}

}  // namespace

std::string pack_state(Transport& transport, const StateToSave& state) {
  MemoryFile file;
  const std::string name = rank_file_name(transport.rank());
  const StoredFile mine = write_checkpoint_file(name, state.taken.header(), state.taken.values(), file);
  const Manifest manifest = gather_manifest(transport, state, mine);
  const std::string text = transport.broadcast_text(transport.rank() == 0 ? encode_manifest(manifest) : "");
  const Prelude prelude{kVersionOfState, static_cast<std::uint32_t>(transport.rank()), text.size()};
  std::string bytes(kMagicOfState);
  bytes.reserve(bytes.size() + kPrelude + text.size() + file.content.size());
  bytes.append(reinterpret_cast<const char*>(&prelude), kPrelude);
  bytes += text;
  return bytes += file.content;
}

SavedStates unpack_states(Transport& transport, const std::vector<std::string_view>& states) {
  std::vector<GivenState> given;
  agree(transport, [&] {
    for (const std::string_view state : states) given.push_back(parse_state(state));
    for (const GivenState& state : given)
      if (state.manifest_text != given.front().manifest_text)
        throw Error(ExitCode::kConfiguration, "the states given were not saved together: one is of step " +
                                                  std::to_string(state.manifest.step) + ", another of step " +
                                                  std::to_string(given.front().manifest.step));
  });
  refuse_different_saves(transport, given);
  SavedStates saved;
  saved.manifest = given.front().manifest;
  agree(transport, [&] {
    const bool is_elastic = saved.ranks() != transport.size();
    for (int rank = 0; is_elastic && rank < saved.ranks(); ++rank)
      saved.headers.push_back(state_of(given, rank).read().header);
    if (is_elastic) saved.first = state_of(given, 0).read();
    if (transport.rank() < saved.ranks()) saved.mine = state_of(given, transport.rank()).read();
  });
  return saved;
}

void save_checkpoint(Transport& transport, const fs::path& named, const StateToSave& state, std::int64_t kept,
                     SaveLock& lock, FileCalls& calls) {
  fs::path directory;
  agree(transport, [&] { directory = place_of(named); });
  const OutputFolder folder(directory);
  const OutputFolder partial = partial_folder(folder, state.taken.header().progress.steps);
  let_first_judge(transport, [&] {
    make_named_directory(directory.parent_path(), "the run directory " + directory.parent_path().string());
    make_directory(folder, calls);
    lock.hold(directory);
    lock.require_own(directory, state.taken.header().progress.steps);
    remove_partial_checkpoints(folder, calls);
    make_directory(partial, calls);
  });
  const std::vector<int> without_access = ranks_without(transport, partial.path());
  const Manifest manifest =
      gather_manifest(transport, state, write_rank(transport, folder, state, without_access, calls));
  let_first_judge(transport, [&] {
    commit_checkpoint(folder, manifest, calls);
    flush_above(directory, calls);
    remove_old_checkpoints(folder, manifest.step, kept, 0, calls);
  });
}

std::optional<SavedStates> load_states(Transport& transport, const fs::path& directory) {
  std::error_code error;
  const bool is_there = transport.rank() == 0 && fs::exists(directory, error);
  if (transport.broadcast_text(is_there ? "there" : "").empty()) return std::nullopt;
  const std::vector<int> without_access = ranks_without(transport, directory);
  const std::optional<FoundCheckpoint> found =
      find_checkpoint(transport, directory, without_access, "put its files back, or save into another directory");
  if (!found) return std::nullopt;
  if (transport.rank() == 0)
    for (const std::string& damaged : found->passed_over) warn(damaged + "; an older checkpoint is loaded");
  SavedStates saved;
  saved.manifest = found->manifest;
  CheckpointFiles files(transport, without_access, directory, saved.manifest);
  const bool is_elastic = saved.ranks() != transport.size();
  if (is_elastic) {
    saved.headers = files.headers();
    saved.first = files.read(0);
  }
  saved.mine = files.read(transport.rank() < saved.ranks() ? transport.rank() : -1);
  return saved;
}

}  // namespace eave
