#include "checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-", kPartial = ".partial", kReplaced = ".replaced.partial";
constexpr const char* kManifest = "manifest.json";
constexpr std::uint64_t kManifestLimitBytes = std::uint64_t{1} << 24;  // a rank takes about 100 bytes

std::string step_name(std::int64_t step) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "step-%06lld", static_cast<long long>(step));
  return text.data();
}

std::optional<std::int64_t> step_in(const std::string& name) {
  std::int64_t step = 0;
  if (!name.starts_with(kStep)) return std::nullopt;
  std::from_chars(name.data() + kStep.size(), name.data() + name.size(), step);
  return step >= 1 && step_name(step) == name ? std::optional(step) : std::nullopt;
}

// Names of all that is in `directory`, in order.
std::vector<std::string> entries_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    names.push_back(entry.path().filename().string());
  // Do not take a directory that cannot be read just now for one without checkpoints.
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw Error(ExitCode::kInputOutput, "cannot read " + directory.string() + ": " + error.message());
  std::ranges::sort(names);
  return names;
}

// False for a symbolic link to a directory.
bool is_directory_itself(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(fs::symlink_status(path, unknown));
}

OutputPath place_in(const OutputFolder& directory, std::int64_t step) { return directory / step_name(step); }
OutputPath partial_in(const OutputFolder& directory, std::int64_t step) {
  return place_in(directory, step).with(std::string(kPartial));
}

// Renames first, then removes: a half-removed checkpoint must not have a name that is read.
void remove_checkpoint(const OutputFolder& directory, std::int64_t step, FileCalls& calls) {
  const OutputPath aside = partial_in(directory, step);
  remove_tree(aside, calls);
  try {
    rename_file(place_in(directory, step), aside, calls);
  } catch (const Error&) {
    return;
  }
  remove_tree(aside, calls);
}

OutputPath aside_place(const OutputPath& place) { return place.with(std::string(kReplaced)); }

// Gives the partial checkpoint its final name. A checkpoint of the same step that is already there keeps another name
// until then.
void give_name(const OutputPath& partial, const OutputPath& place, FileCalls& calls) {
  if (!is_there(place)) return rename_file(partial, place, calls);
  remove_tree(aside_place(place), calls);
  rename_file(place, aside_place(place), calls);
  try {
    rename_file(partial, place, calls);
  } catch (const Error&) {
    calls.rename(aside_place(place), place);
    throw;
  }
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kBadData, path.string() + ": " + why);
}

}  // namespace

fs::path checkpoint_path(const fs::path& directory, std::int64_t step) { return directory / step_name(step); }

OutputFolder partial_folder(const OutputFolder& directory, std::int64_t step) {
  return directory.below(step_name(step) + std::string(kPartial));
}

std::string rank_file_name(int rank) { return "rank-" + std::to_string(rank) + ".state"; }

std::vector<std::int64_t> committed_steps(const fs::path& directory) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : entries_in(directory)) {
    if (const auto step = step_in(name)) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

void commit_checkpoint(const OutputFolder& directory, const Manifest& manifest, FileCalls& calls) {
  const OutputFolder partial = partial_folder(directory, manifest.step);
  const OutputPath place = place_in(directory, manifest.step);
  OutputFile file(partial / kManifest, FileCalls::Existing::kRefuse, calls);
  file.write(encode_manifest(manifest));
  file.finish();
  flush_directory(partial, calls);
  give_name(partial.entry(), place, calls);
  flush_directory(directory, calls);
  remove_tree(aside_place(place), calls);
}

void remove_old_checkpoints(const OutputFolder& directory, std::int64_t newest, std::int64_t kept,
                            std::int64_t keep_every, FileCalls& calls) {
  std::int64_t seen = 0;
  std::vector<std::int64_t> steps = committed_steps(directory.path());
  std::ranges::reverse(steps);
  for (const std::int64_t step : steps) {
    if (!is_directory_itself(checkpoint_path(directory.path(), step))) continue;
    const bool is_later = step > newest, is_multiple = keep_every > 0 && step % keep_every == 0;
    if (!is_later && (++seen <= kept || is_multiple)) continue;
    remove_checkpoint(directory, step, calls);
  }
}

void put_back_replaced_checkpoints(const OutputFolder& directory, FileCalls& calls) {
  for (const std::string& name : entries_in(directory.path())) {
    if (!name.ends_with(kReplaced) || !is_directory_itself(directory.path() / name)) continue;
    const auto step = step_in(name.substr(0, name.size() - kReplaced.size()));
    if (!step || is_there(place_in(directory, *step))) continue;
    calls.rename(directory / name, place_in(directory, *step));
  }
}

void remove_partial_checkpoints(const OutputFolder& directory, FileCalls& calls) {
  int error = 0;
  for (const std::string& name : names_in(directory, error)) {
    if (name.starts_with(kStep) && name.ends_with(kPartial)) remove_tree(directory / name, calls);
  }
}

Manifest read_manifest(const fs::path& directory, std::int64_t step) {
  const fs::path place = checkpoint_path(directory, step), path = place / kManifest;
  std::error_code unknown;
  if (fs::is_symlink(place, unknown)) refuse(place, "it is a symbolic link; put the directory itself in its place");
  if (fs::exists(place, unknown) && !fs::is_directory(place, unknown))
    refuse(place, "it is no directory; put the checkpoint back, or remove it");
  Manifest manifest;
  try {
    manifest = parse_manifest(InputFile(path).read_whole(kManifestLimitBytes));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kBadData) throw;
    refuse(path, error.what());
  }
  if (manifest.step != step) refuse(path, "it is of step " + std::to_string(manifest.step));
  return manifest;
}

CheckpointHeader read_rank(const fs::path& directory, const Manifest& manifest, int rank, std::vector<float>* body,
                           ByteStream* source) {
  const fs::path place = checkpoint_path(directory, manifest.step);
  const StoredFile& file = manifest.files.at(static_cast<std::size_t>(rank));
  CheckpointHeader header;
  try {
    header = read_checkpoint_file(place, file, body, source);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kInputMissing) throw;
    throw Error(ExitCode::kBadData, error.what());
  }
  const bool is_its = header.rank == rank && header.ranks == std::ssize(manifest.files) &&
                      header.progress.steps == manifest.step && header.progress.samples == manifest.samples &&
                      header.configuration == configuration_of(manifest.identity);
  if (!is_its) refuse(place / file.name, "it is of another rank, step or run than the manifest says");
  return header;
}

}  // namespace eave
