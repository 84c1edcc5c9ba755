#include "train/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/safetensors.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

struct NamedSlice {
  std::string name;
  Slice values;
};

// Everything that a step reads and a later step needs.
std::vector<NamedSlice> state_of(const TrainingParts& parts) {
  std::vector<NamedSlice> state = {{"parameters", parts.replica.parameters.slice()},
                                   {"statistics", parts.replica.statistics.slice()}};
  const auto append = [&](const std::string& owner, const std::vector<Slice>& slices) {
    for (std::size_t i = 0; i < slices.size(); ++i) state.push_back({owner + "." + std::to_string(i), slices[i]});
  };
  append("optimizer", parts.replica.optimizer.state());
  append("communicator", parts.communicator.state());
  return state;
}

bool is_elsewhere(const Device& device, ConstSlice values) {
  return device.kind() != DeviceKind::kCpu && device.holds(values);
}

// The values themselves, or a copy where they lie on another device.
ConstSlice on_host(Device& device, ConstSlice values, std::deque<std::vector<float>>& copies) {
  if (!is_elsewhere(device, values)) return values;
  copies.emplace_back(values.size());
  device.read(values, copies.back());
  return copies.back();
}

void write_values(Device& device, Slice into, ConstSlice values) {
  if (is_elsewhere(device, into)) return device.write(into, values);
  std::ranges::copy(values, into.begin());
}

std::string exact_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

template <typename Number>
Number number_in(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.text(key);
  Number number{};
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) {
    throw Error(ExitCode::kBadData, file.path + ": '" + key + "' is no number");
  }
  return number;
}

// What must be the same in the run that saved and the run that loads; the first that differs is told.
std::vector<std::pair<std::string, std::string>> identity(const TrainingParts& parts) {
  std::string vectors;
  for (const NamedSlice& part : state_of(parts)) vectors += (vectors.empty() ? "" : ", ") + part.name;
  return {{"ranks", std::to_string(parts.transport.size())},
          {"seed", std::to_string(parts.replica.seed)},
          {"training samples", std::to_string(parts.data.train->size())},
          {"steps per epoch", std::to_string(parts.sampler.steps_per_epoch())},
          {"model parameters", std::to_string(parts.replica.parameters.size())},
          {"vectors", vectors},
          {"rank", std::to_string(parts.transport.rank())}};
}

fs::path step_directory(const fs::path& directory, std::int64_t step) {
  return directory / ("step-" + std::to_string(step));
}

fs::path rank_file(const fs::path& step, int rank) { return step / ("rank-" + std::to_string(rank) + ".safetensors"); }

// The message names the step, not the rank's file: all ranks say the same.
void require_same(const SafetensorsFile& file, const fs::path& step, const std::string& key, const std::string& value) {
  if (file.text(key) == value) return;
  throw Error(ExitCode::kConfiguration, step.string() + " was saved with " + key + " " + file.text(key) +
                                            ", this run has " + value + "; resume with the settings in config.json");
}

// This rank's file, of the run that goes on.
SafetensorsFile open_rank_file(const fs::path& directory, const TrainingParts& parts) {
  const fs::path step = step_directory(directory, latest_checkpoint(directory));
  const fs::path mine = rank_file(step, parts.transport.rank()), first = rank_file(step, 0);
  if (!fs::exists(mine) && fs::exists(first)) {
    require_same(read_safetensors(first), step, "ranks", std::to_string(parts.transport.size()));
  }
  SafetensorsFile file = read_safetensors(mine);
  for (const auto& [key, value] : identity(parts)) require_same(file, step, key, value);
  return file;
}

void write_rank_file(const fs::path& step, const TrainingParts& parts, const TrainingProgress& progress) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : identity(parts)) metadata[key] = value;
  metadata["step"] = std::to_string(progress.steps);
  metadata["samples"] = std::to_string(progress.samples);
  metadata["bytes"] = std::to_string(progress.bytes);
  metadata["seconds"] = exact_text(progress.seconds);
  metadata["waiting"] = exact_text(progress.waiting);
  if (const std::int64_t* count = parts.replica.optimizer.update_count()) metadata["updates"] = std::to_string(*count);
  std::vector<NamedArray> arrays;
  std::deque<std::vector<float>> copies;
  for (const NamedSlice& part : state_of(parts)) {
    arrays.push_back({part.name,
                      {static_cast<std::int64_t>(part.values.size())},
                      on_host(parts.replica.device, part.values, copies)});
  }
  std::error_code error;
  fs::create_directories(step, error);
  write_safetensors(rank_file(step, parts.transport.rank()), arrays, metadata);
}

void remove_other_steps(const fs::path& directory, const fs::path& kept) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-") && entry.path() != kept) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

std::int64_t latest_checkpoint(const fs::path& directory) {
  const fs::path path = directory / "latest";
  if (!fs::exists(path)) {
    throw Error(ExitCode::kInputMissing, "no checkpoint in " + directory.string() + "; start without --resume");
  }
  const std::string text = read_file(path, 64);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || step < 1) throw Error(ExitCode::kBadData, path.string() + " names no step");
  return step;
}

void save_checkpoint(const fs::path& directory, const TrainingParts& parts, const TrainingProgress& progress) {
  parts.communicator.consensus();
  const fs::path step = step_directory(directory, progress.steps);
  agree(parts.transport, [&] { write_rank_file(step, parts, progress); });
  agree(parts.transport, [&] {
    if (parts.transport.rank() != 0) return;
    write_file_atomically(directory / "latest", std::to_string(progress.steps) + "\n");
    remove_other_steps(directory, step);
  });
}

void check_checkpoint(const fs::path& directory, const TrainingParts& parts) { open_rank_file(directory, parts); }

TrainingProgress load_checkpoint(const fs::path& directory, const TrainingParts& parts) {
  TrainingProgress progress;
  agree(parts.transport, [&] {
    const SafetensorsFile file = open_rank_file(directory, parts);
    progress = {number_in<std::int64_t>(file, "step"), number_in<std::int64_t>(file, "samples"),
                number_in<double>(file, "seconds"), number_in<double>(file, "waiting"),
                number_in<std::int64_t>(file, "bytes")};
    std::int64_t* count = parts.replica.optimizer.update_count();
    const std::int64_t updates = count ? number_in<std::int64_t>(file, "updates") : 0;
    const std::vector<NamedSlice> state = state_of(parts);
    for (const NamedSlice& part : state) file.array(part.name, part.values.size());
    for (const NamedSlice& part : state) {
      write_values(parts.replica.device, part.values, file.array(part.name, part.values.size()));
    }
    if (count) *count = updates;
  });
  return progress;
}

}  // namespace eave
