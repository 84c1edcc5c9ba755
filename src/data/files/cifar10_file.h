// One file of CIFAR-10's binary version: records of a label byte and 3 x 1,024 pixel bytes (red, green, blue planes of
// 32 x 32).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/files/byte_source.h"

namespace eave {

inline constexpr int kCifarSide = 32, kCifarChannels = 3, kCifarClasses = 10;

// Appends the labels of the file's records. Throws Error(kBadData) unless the file holds exactly `records`, each with a
// label below 10.
void append_cifar_labels(const ByteSource& file, std::int64_t records, std::vector<std::uint8_t>& labels);

// Reads the image of one record, interleaved (32 x 32 x 3). Throws Error(kBadData) if the file ends before it.
void read_cifar_image(const ByteSource& file, std::int64_t record, std::span<std::uint8_t> pixels);

}  // namespace eave
