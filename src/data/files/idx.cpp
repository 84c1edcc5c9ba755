#include "data/files/idx.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/host.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kMostDimensions = 8;
constexpr std::uint8_t kUnsignedByte = 8;
constexpr std::uint64_t kReservedAtMost = std::uint64_t{1} << 28, kReadAtOnce = std::uint64_t{1} << 22;
// One byte of deflate data yields at most this many (zlib's documentation).
constexpr std::uint64_t kMostDeflated = 1032;

[[noreturn]] void refuse(const ByteSource& source, const std::string& what) {
  throw Error(ExitCode::kBadData, source.name() + ": " + what);
}

std::string bytes_text(std::uint64_t count) { return count_text(count, "byte"); }

// Reads the content from its beginning, compressed or not.
class Content {
 public:
  explicit Content(const ByteSource& source) : source_(source) {
    if (is_gzip(source)) gzip_.emplace(source);
  }
  bool is_packed() const { return gzip_.has_value(); }
  std::uint64_t offset() const { return offset_; }

  void read(std::span<std::uint8_t> bytes, const char* what) {
    const std::size_t count = gzip_ ? gzip_->read(bytes) : source_.read_at(offset_, bytes);
    if (count < bytes.size()) {
      refuse(source_, "ends at offset " + std::to_string(offset_ + count) + (gzip_ ? " of its content" : "") +
                          ", in the middle of " + what + ": truncated; get the file again");
    }
    offset_ += count;
  }

  void require_end() {
    if (gzip_) gzip_->require_end();
  }

 private:
  const ByteSource& source_;
  std::optional<GzipReader> gzip_;
  std::uint64_t offset_ = 0;
};

const char* plural(IdxContent content) { return content == IdxContent::kImages ? "images" : "labels"; }

// Refuses a file without IDX's magic number. The message names the kind of file if it is known, else the first bytes.
[[noreturn]] void refuse_magic(const ByteSource& source, const std::string& found) {
  const std::string known = describe_unpacked(source, "get the IDX file");
  if (!known.empty()) refuse(source, known + "; an IDX header begins at offset 0");
  refuse(source, is_gzip(source) ? "is a gzip file that holds no IDX file: magic number of its content " + found +
                                       "; get the file again"
                                 : "not an IDX file: magic number " + found);
}

void check_magic(const ByteSource& source, const std::array<std::uint8_t, 4>& magic, IdxContent content) {
  const auto expected = static_cast<std::uint8_t>(content);
  if (magic == std::array<std::uint8_t, 4>{0, 0, kUnsignedByte, expected}) return;
  char text[64];
  std::snprintf(text, sizeof text, "0x%02x%02x%02x%02x at offset 0, expected 0x%04x%02x%02x", magic[0], magic[1],
                magic[2], magic[3], 0, kUnsignedByte, expected);
  const std::string found(text);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] == 0) refuse_magic(source, found);
  if (magic[2] != kUnsignedByte) refuse(source, "its values are not unsigned bytes: magic number " + found);
  const IdxContent other = content == IdxContent::kImages ? IdxContent::kLabels : IdxContent::kImages;
  if (magic[3] == static_cast<std::uint8_t>(other)) {
    refuse(source, std::string("holds ") + plural(other) + " where " + plural(content) + " belong: magic number " +
                       found + "; were the two files swapped?");
  }
  refuse(source, "has " + count_text(magic[3], "dimension") +
                     (magic[3] > kMostDimensions ? " (no more than 8 are ever read)" : "") + ": magic number " + found);
}

std::vector<std::int64_t> read_dimensions(const ByteSource& source, Content& content, std::size_t count) {
  std::vector<std::int64_t> dimensions;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, 4> word{};
    const std::uint64_t offset = content.offset();
    content.read(word, "the header");
    std::int64_t value = 0;
    for (const std::uint8_t byte : word) value = value * 256 + byte;
    if (value == 0) refuse(source, "dimension " + std::to_string(i) + " at offset " + std::to_string(offset) + " is 0");
    dimensions.push_back(value);
  }
  return dimensions;
}

std::uint64_t count_values(const ByteSource& source, const std::vector<std::int64_t>& dimensions) {
  std::uint64_t product = 1;
  std::string text;
  for (const std::int64_t dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + std::to_string(dimension);
    if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(dimension), &product) || product > INT64_MAX / 2) {
      refuse(source, "declares " + text + " ... values: more than 64 bits can count");
    }
  }
  return product;
}

void check_size(const ByteSource& source, const Content& content, std::uint64_t values) {
  if (content.is_packed()) {
    if (values / kMostDeflated <= source.size()) return;
    refuse(source, "declares " + bytes_text(values) + ", more than a gzip file of " + bytes_text(source.size()) +
                       " can hold; get the file again");
  }
  const std::uint64_t expected = content.offset() + values;
  if (source.size() == expected) return;
  refuse(source, "is " + bytes_text(source.size()) + " long, but its header declares " + bytes_text(expected) + ": " +
                     (source.size() < expected ? "truncated" : "something stands behind its values") +
                     "; get the file again");
}

void check_memory(const ByteSource& source, std::uint64_t values) {
  const std::int64_t available = available_memory_bytes();
  if (available < 0 || values < static_cast<std::uint64_t>(available)) return;
  throw Error(ExitCode::kResource, source.name() + ": needs " + bytes_text(values) + " of memory on each rank, " +
                                       std::to_string(available) + " are available; unpack it with gunzip: then it " +
                                       "stays in its file");
}

// Allocates memory as values are read, whatever size the header claims.
void read_values(Content& bytes, std::uint64_t count, std::vector<std::uint8_t>& values) {
  values.reserve(static_cast<std::size_t>(std::min(count, kReservedAtMost)));
  while (values.size() < count) {
    const std::size_t first = values.size();
    values.resize(first + static_cast<std::size_t>(std::min(count - first, kReadAtOnce)));
    bytes.read(std::span(values).subspan(first), "the values");
  }
}

// Reads up to the values, and returns their number.
std::uint64_t read_header(const ByteSource& source, Content& bytes, IdxContent content,
                          std::vector<std::int64_t>& dimensions) {
  if (source.size() == 0) refuse(source, "is empty; get the file again");
  std::array<std::uint8_t, 4> magic{};
  bytes.read(magic, "the magic number");
  check_magic(source, magic, content);
  dimensions = read_dimensions(source, bytes, magic[3]);
  const std::uint64_t values = count_values(source, dimensions);
  check_size(source, bytes, values);
  return values;
}

}  // namespace

IdxArray read_idx(const ByteSource& source, IdxContent content) {
  Content bytes(source);
  IdxArray array;
  const std::uint64_t values = read_header(source, bytes, content, array.dimensions);
  check_memory(source, values);
  read_values(bytes, values, array.values);
  bytes.require_end();
  return array;
}

std::vector<std::int64_t> read_idx_dimensions(const ByteSource& source, IdxContent content) {
  Content bytes(source);
  std::vector<std::int64_t> dimensions;
  read_header(source, bytes, content, dimensions);
  return dimensions;
}

IdxImages::IdxImages(FileSource source) {
  Content bytes(source);
  if (bytes.is_packed()) {
    array_ = read_idx(source, IdxContent::kImages);
    return;
  }
  read_header(source, bytes, IdxContent::kImages, array_.dimensions);
  offset_ = bytes.offset();
  file_.emplace(std::move(source));
}

void IdxImages::read(std::int64_t first, std::span<std::uint8_t> values) const {
  if (!file_) {
    std::copy_n(array_.values.begin() + first, values.size(), values.begin());
    return;
  }
  const std::uint64_t offset = offset_ + static_cast<std::uint64_t>(first);
  if (file_->read_at(offset, values) == values.size()) return;
  refuse(*file_, "became shorter while it was in use: it ends before offset " + std::to_string(offset + values.size()));
}

}  // namespace eave
