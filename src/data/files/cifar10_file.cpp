#include "data/files/cifar10_file.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kPlane = kCifarSide * kCifarSide;
constexpr std::size_t kRecord = 1 + kCifarChannels * kPlane;

// Whether the file begins with a label. If so it may be a CIFAR file, whatever else its first bytes look like.
bool begins_with_label(const ByteSource& file) {
  std::array<std::uint8_t, 1> label{};
  return file.read_at(0, label) == 0 || label[0] < kCifarClasses;
}

[[noreturn]] void refuse_batch_file(const ByteSource& file, const std::string& why) {
  const ContentKind kind = begins_with_label(file) ? ContentKind{} : content_kind_of(file);
  const bool is_pickle = kind.group == ContentGroup::kPickle;
  const std::string what = kind.what + (is_pickle ? ", as in CIFAR-10's Python version" : "");
  const std::string advice = kind.remedy.empty() ? "get the binary version of CIFAR-10" : kind.remedy;
  throw Error(ExitCode::kBadData, file.name() + " " + (kind.what.empty() ? why : "is " + what + ": " + advice));
}

void check_size(const ByteSource& file, std::uint64_t records) {
  const std::uint64_t expected = records * kRecord;
  if (file.size() == expected) return;
  refuse_batch_file(file, "is " + count_text(file.size(), "byte") + " long, expected " + std::to_string(expected) +
                              " (" + count_text(records, "record") +
                              " of 3,073 bytes): " + (file.size() < expected ? "truncated, or not" : "not") +
                              " a file of CIFAR-10's binary version; get it again");
}

}  // namespace

void append_cifar_labels(const ByteSource& file, std::int64_t records, std::vector<std::uint8_t>& labels) {
  constexpr std::uint64_t kAtOnce = 100;
  const auto count = static_cast<std::uint64_t>(records);
  check_size(file, count);
  std::vector<std::uint8_t> some;
  for (std::uint64_t first = 0; first < count; first += kAtOnce) {
    const std::uint64_t offset = first * kRecord;
    some.resize(std::min(kAtOnce, count - first) * kRecord);
    if (file.read_at(offset, some) != some.size()) {
      throw Error(ExitCode::kBadData, file.name() + " ends before offset " + std::to_string(offset + some.size()));
    }
    for (std::size_t i = 0; i < some.size(); i += kRecord) {
      if (some[i] >= kCifarClasses) {
        throw Error(ExitCode::kBadData, file.name() + ": label " + std::to_string(some[i]) + " at offset " +
                                            std::to_string(offset + i) +
                                            ", expected 0 to 9: not a file of CIFAR-10's binary version, or damaged");
      }
      labels.push_back(some[i]);
    }
  }
}

void read_cifar_image(const ByteSource& file, std::int64_t record, std::span<std::uint8_t> pixels) {
  std::array<std::uint8_t, kCifarChannels * kPlane> planes;
  const std::uint64_t offset = static_cast<std::uint64_t>(record) * kRecord + 1;
  if (file.read_at(offset, planes) != planes.size()) {
    throw Error(ExitCode::kBadData, file.name() + " became shorter while it was in use: it ends before offset " +
                                        std::to_string(offset + planes.size()));
  }
  std::uint8_t* pixel = pixels.data();
  for (const std::uint8_t* plane = planes.data(); plane != planes.data() + kPlane; ++plane) {
    for (std::size_t channel = 0; channel < kCifarChannels; ++channel) *pixel++ = plane[channel * kPlane];
  }
}

}  // namespace eave
