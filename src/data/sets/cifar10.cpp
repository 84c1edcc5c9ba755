// The dataset cifar10: six files of 10,000 images, in the binary version of CIFAR-10.

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/options/spelling.h"
#include "base/printable.h"
#include "data/files/byte_source.h"
#include "data/files/cifar10_file.h"
#include "data/files/data_directory.h"
#include "data/files/mapped_file.h"
#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRecordsPerFile = 10000;
const std::array<std::string, 6> kFiles = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

// Images stay in the files, whose cached pages the ranks of a host share. A copy would take 180 MB of each rank's
// memory.
class CifarDataset : public Dataset {
 public:
  CifarDataset(std::vector<MappedFile> files, std::vector<std::uint8_t> labels)
      : files_(std::move(files)), labels_(std::move(labels)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  ImageShape shape() const override { return {kCifarSide, kCifarSide, kCifarChannels}; }
  int classes() const override { return kCifarClasses; }
  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    read_cifar_image(files_[static_cast<std::size_t>(index / kRecordsPerFile)], index % kRecordsPerFile, pixels);
  }

 private:
  std::vector<MappedFile> files_;
  std::vector<std::uint8_t> labels_;
};

std::unique_ptr<Dataset> open_part(const fs::path& directory, std::span<const std::string> names) {
  std::vector<MappedFile> files;
  std::vector<std::uint8_t> labels;
  for (const std::string& name : names) {
    FileSource file(directory / name);
    append_cifar_labels(file, kRecordsPerFile, labels);
    files.emplace_back(std::move(file));
  }
  return std::make_unique<CifarDataset>(std::move(files), std::move(labels));
}

std::string missing_from(const fs::path& directory, const char* ending) {
  std::string missing;
  for (const std::string& name : kFiles) {
    std::error_code error;
    if (!fs::exists(directory / (name + ending), error)) missing += (missing.empty() ? "" : ", ") + name + ending;
  }
  return missing;
}

struct Packed {
  const char* ending;
  const char* program;  // unpacks to its output with -dc
};
constexpr std::array kPacked = {Packed{".xz", "xz"}, Packed{".gz", "gzip"}};

[[noreturn]] void ask_to_unpack(const fs::path& directory, const Packed& packed) {
  const std::string ending = packed.ending;
  const std::string target = "data/cifar10";
  throw LinesError(
      ExitCode::kInputMissing,
      {directory.string() + " holds CIFAR-10 packed (.bin" + ending + "). Unpack it with:",
       "  mkdir -p " + target + " && for f in " + shell_quoted(directory.string()) + "/*.bin" + ending + "; do " +
           packed.program + " -dc \"$f\" > " + target + "/\"$(basename \"$f\" " + ending + ")\"; done",
       "and name the new place: --data-dir " + target});
}

// Refuses other versions of CIFAR-10 that people download by mistake.
void refuse_other_versions(const fs::path& directory) {
  std::error_code error;
  const auto holds = [&](const char* name) { return fs::exists(directory / name, error); };
  for (const char* name : {"data_batch_1", "cifar-10-batches-py", "cifar-10-python.tar.gz"}) {
    if (!holds(name)) continue;
    throw Error(ExitCode::kInputMissing, (directory / name).string() +
                                             " is of CIFAR-10's Python version; get the binary version "
                                             "(data_batch_1.bin and its companions)");
  }
  if (holds("cifar-10-binary.tar.gz")) {
    throw Error(ExitCode::kInputMissing, directory.string() +
                                             " holds CIFAR-10 packed: unpack it there with tar -xzf "
                                             "cifar-10-binary.tar.gz");
  }
}

// Returns the files if the directory holds the whole set. A directory with only some of them ends the search with an
// error.
std::vector<std::string> files_of_set(const fs::path& directory) {
  const std::string missing = missing_from(directory, "");
  if (missing.empty()) return {kFiles.begin(), kFiles.end()};
  for (const Packed& packed : kPacked) {
    if (missing_from(directory, packed.ending).empty()) ask_to_unpack(directory, packed);
  }
  for (const std::string& name : kFiles) {
    std::error_code error;
    if (fs::exists(directory / name, error)) {
      throw Error(ExitCode::kInputMissing, directory.string() + " lacks " + missing);
    }
  }
  std::error_code error;
  if (!fs::exists(directory / "cifar-10-batches-bin", error)) refuse_other_versions(directory);
  return {};
}

DataSplit open_cifar10(const OptionValues& values) {
  const DataDirectories directories{
      {"data/cifar10", "/usr/share/datasets/cifar10"},
      "cifar-10-batches-bin",
      "cifar10 (data_batch_1.bin to data_batch_5.bin, test_batch.bin)",
      "put those of the \"binary version\" into one directory and name it with --data-dir"};
  const fs::path directory = find_data_directory(directories, values, files_of_set);
  DataSplit split;
  split.train = open_part(directory, std::span(kFiles).first(5));
  split.test = open_part(directory, std::span(kFiles).last(1));
  split.mean = {0.4914F, 0.4822F, 0.4465F};
  split.deviation = {0.2470F, 0.2435F, 0.2616F};
  return split;
}

}  // namespace

DatasetKind describe_dataset_cifar10() {
  return {"cifar10", "32 x 32 colour photographs, 10 classes, 50,000 + 10,000 (Krizhevsky, 2009); the binary version",
          data_file_options(), open_cifar10};
}

}  // namespace eave
