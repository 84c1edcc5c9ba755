// Makes small data files for tests, whole and damaged, and opens datasets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "eave/check.h"
#include "eave/dataset.h"
#include "test/temporary_directory.h"

namespace eave {

using Bytes = std::vector<std::uint8_t>;

void write_bytes(const std::filesystem::path& path, const Bytes& bytes);
Bytes gzip(const Bytes& bytes);
Bytes operator+(Bytes bytes, const Bytes& more);
Bytes first(const Bytes& bytes, std::size_t count);
Bytes with(Bytes bytes, std::size_t offset, std::uint8_t value);

Bytes idx_header(std::initializer_list<std::uint32_t> dimensions);
// The bytes of an IDX file of unsigned bytes. `values` are repeated until the file has as many as `dimensions` say.
Bytes idx_file(std::initializer_list<std::uint32_t> dimensions, const Bytes& values);

// The contents of the four files of a set with 30 training and 10 test images of 6 × 5 pixels, by file name.
std::map<std::string, Bytes> small_idx_set();
void write_set(const std::filesystem::path& directory, const std::map<std::string, Bytes>& files);

// Writes CIFAR-10's six files in their full size, mostly as holes. In the first 100 records of each file, labels and
// first pixels count up.
void write_cifar10_set(const std::filesystem::path& directory);

// The option values of `kind`: its defaults, with the values in `given` set.
OptionValues options_of(const DatasetKind& kind, const std::map<std::string, std::string>& given);
Bytes pixels_of(const Dataset& dataset, std::int64_t index);
DataSplit open_dataset(const std::string& name, const std::map<std::string, std::string>& given);

// A dataset of `size` images whose labels are their indices modulo `classes`. A derived class makes the pixels.
class SmallDataset : public Dataset {
 public:
  SmallDataset(std::int64_t size, ImageShape shape, int classes) : size_(size), shape_(shape), classes_(classes) {}
  std::int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % classes_); }

 private:
  std::int64_t size_;
  ImageShape shape_;
  int classes_;
};

// The code and text of the Error that an action throws; kDone and "" if it throws nothing.
struct Refusal {
  ExitCode code = ExitCode::kDone;
  std::string text;
  bool names(const std::string& word) const { return text.find(word) != std::string::npos; }
};
Refusal refusal_of(const std::function<void()>& action);
// Expects a refusal with this code, whose text holds all `words`.
void expect_refusal(const Refusal& found, ExitCode code, const std::vector<std::string>& words);
// Returns the text of the std::exception that `action` throws, or "" if it throws none.
std::string thrown_by(const std::function<void()>& action);
std::ostream& operator<<(std::ostream& out, const Refusal& refusal);
std::ostream& operator<<(std::ostream& out, ExitCode code);

}  // namespace eave
