#include "data/sets/idx_dataset.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/options/number_text.h"
#include "data/files/byte_source.h"
#include "data/files/idx.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr int kClasses = 10;
constexpr std::int64_t kLongestSide = 65535;

// The files of the set, in the order in which they are read.
enum File { kTrainLabels, kTrainImages, kTestLabels, kTestImages, kFiles };
constexpr std::array<const char*, kFiles> kStems = {"train-labels", "train-images", "t10k-labels", "t10k-images"};

IdxContent content_of(int file) {
  return file == kTrainLabels || file == kTestLabels ? IdxContent::kLabels : IdxContent::kImages;
}

// The names that a file may have: "train-images-idx3-ubyte", with a dot for the second hyphen as some unpackers write
// it, and each with ".gz".
std::vector<std::string> file_names(int file) {
  const std::string stem = kStems[static_cast<std::size_t>(file)];
  const std::string format = "idx" + std::to_string(static_cast<int>(content_of(file))) + "-ubyte";
  return {stem + "-" + format, stem + "-" + format + ".gz", stem + "." + format, stem + "." + format + ".gz"};
}

std::optional<fs::path> find_file(const fs::path& directory, int file) {
  for (const std::string& name : file_names(file)) {
    std::error_code error;
    if (fs::exists(directory / name, error)) return directory / name;
  }
  return std::nullopt;
}

using Paths = std::array<fs::path, kFiles>;

// Returns the names of all four files, or none if none is there. Throws Error(kInputMissing) if only some are.
std::vector<std::string> files_of_set(const fs::path& directory) {
  std::string missing;
  std::vector<std::string> found;
  for (int file = 0; file < kFiles; ++file) {
    if (const auto path = find_file(directory, file)) {
      found.push_back(path->filename().string());
    } else {
      missing += (missing.empty() ? "" : ", ") + file_names(file).front() + "[.gz]";
    }
  }
  if (!found.empty() && found.size() < kFiles)
    throw Error(ExitCode::kInputMissing, directory.string() + " lacks " + missing);
  return found;
}

Paths locate(const IdxSet& set, const OptionValues& values) {
  const fs::path directory = find_data_directory(set.directories, values, files_of_set);
  Paths paths;
  for (int file = 0; file < kFiles; ++file) {
    const auto path = find_file(directory, file);
    if (!path) throw Error(ExitCode::kInputMissing, file_names(file).front() + " has gone from " + directory.string());
    paths[static_cast<std::size_t>(file)] = *path;
  }
  return paths;
}

class IdxDataset : public Dataset {
 public:
  IdxDataset(IdxImages images, IdxArray labels) : images_(std::move(images)), labels_(std::move(labels.values)) {
    shape_ = {static_cast<int>(images_.dimensions()[1]), static_cast<int>(images_.dimensions()[2]), 1};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  ImageShape shape() const override { return shape_; }
  int classes() const override { return kClasses; }
  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    images_.read(index * shape_.size(), pixels.first(static_cast<std::size_t>(shape_.size())));
  }

 private:
  const IdxImages images_;
  const std::vector<std::uint8_t> labels_;
  ImageShape shape_;
};

void check_labels(const fs::path& path, const IdxArray& labels) {
  const auto wrong =
      std::find_if(labels.values.begin(), labels.values.end(), [](std::uint8_t label) { return label >= kClasses; });
  if (wrong == labels.values.end()) return;
  const std::ptrdiff_t place = wrong - labels.values.begin();
  throw Error(ExitCode::kBadData, path.string() + ": label " + std::to_string(*wrong) + " of sample " +
                                      std::to_string(place) + " (offset " + std::to_string(8 + place) +
                                      " of the content), expected 0 to " + std::to_string(kClasses - 1));
}

void check_sides(const fs::path& path, const std::vector<std::int64_t>& dimensions) {
  for (const std::size_t side : {1, 2}) {
    if (dimensions[side] <= kLongestSide) continue;
    throw Error(ExitCode::kBadData, path.string() + ": images of " + std::to_string(dimensions[1]) + " x " +
                                        std::to_string(dimensions[2]) + " pixels (offset 8), expected at most " +
                                        std::to_string(kLongestSide) + " each way");
  }
}

using Dimensions = std::array<std::vector<std::int64_t>, kFiles>;

void check_counts(const Paths& paths, const Dimensions& of) {
  const bool crossed = of[kTrainImages][0] == of[kTestLabels][0] && of[kTestImages][0] == of[kTrainLabels][0];
  for (const auto& [images, labels] : {std::pair{kTrainImages, kTrainLabels}, std::pair{kTestImages, kTestLabels}}) {
    if (of[images][0] == of[labels][0]) continue;
    throw Error(ExitCode::kBadData,
                paths[images].string() + " holds " + count_text(of[images][0], "image") + ", but " +
                    paths[labels].string() + " holds " + count_text(of[labels][0], "label") + " (offset 4)" +
                    (crossed ? ": training and test files were swapped, either the images or the labels"
                             : ": they are not of the same set"));
  }
}

// Warns if the test set is larger than the training set: the files may have been swapped. It is no error, because
// few-shot learning has such sets.
std::string note_on_counts(const Dimensions& of) {
  if (of[kTestImages][0] <= of[kTrainImages][0]) return "";
  return "more test images (" + std::to_string(of[kTestImages][0]) + ") than training images (" +
         std::to_string(of[kTrainImages][0]) + "): if that is not meant, the training and test files were swapped";
}

void check_shapes(const Paths& paths, const Dimensions& of) {
  for (const std::size_t side : {1, 2}) {
    if (of[kTrainImages][side] == of[kTestImages][side]) continue;
    throw Error(ExitCode::kBadData, paths[kTrainImages].string() + " and " + paths[kTestImages].string() +
                                        " differ in the size of their images (offset 8): they are not of one set");
  }
}

Dimensions read_headers(const Paths& paths) {
  Dimensions dimensions;
  for (int file = 0; file < kFiles; ++file) {
    const auto at = static_cast<std::size_t>(file);
    dimensions[at] = read_idx_dimensions(FileSource(paths[at]), content_of(file));
    if (content_of(file) == IdxContent::kImages) check_sides(paths[at], dimensions[at]);
  }
  return dimensions;
}

}  // namespace

DataSplit open_idx_set(const IdxSet& set, const OptionValues& values) {
  const Paths paths = locate(set, values);
  const auto open = [&](File file) { return FileSource(paths[file]); };
  // Read all headers first: contradictions between them show before anything is unpacked.
  const Dimensions dimensions = read_headers(paths);
  check_counts(paths, dimensions);
  check_shapes(paths, dimensions);
  IdxArray train_labels = read_idx(open(kTrainLabels), IdxContent::kLabels);
  check_labels(paths[kTrainLabels], train_labels);
  IdxArray test_labels = read_idx(open(kTestLabels), IdxContent::kLabels);
  check_labels(paths[kTestLabels], test_labels);
  DataSplit split;
  split.train = std::make_unique<IdxDataset>(IdxImages(open(kTrainImages)), std::move(train_labels));
  split.test = std::make_unique<IdxDataset>(IdxImages(open(kTestImages)), std::move(test_labels));
  split.mean = {set.mean};
  split.deviation = {set.deviation};
  split.note = note_on_counts(dimensions);
  return split;
}

}  // namespace eave
