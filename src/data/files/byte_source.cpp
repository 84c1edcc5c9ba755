#include "data/files/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/files/input_file.h"
#include "data/files/gzip_reader.h"
#include "eave/check.h"

namespace eave {
namespace {

ContentKind packed_kind(const ByteSource& source) {
  std::array<std::uint8_t, kContentBytes> begin{};
  try {
    return content_kind(std::span(begin).first(GzipReader(source).read(begin)));
  } catch (const Error&) {
    return {};  // the gzip file is damaged
  }
}

// Combines gunzip with the remedy for the content.
std::string then_unpack(const std::string& gunzip, const ContentKind& inner) {
  constexpr std::string_view kUnpack = "unpack it ";
  if (inner.what.find("tar archive") != std::string::npos) return "unpack it with tar -xzf";
  if (!inner.remedy.starts_with(kUnpack) || inner.remedy == gunzip) return gunzip;
  return gunzip + ", then " + inner.remedy.substr(kUnpack.size());
}

}  // namespace

std::size_t MemorySource::read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  if (offset >= bytes_.size()) return 0;
  const std::size_t count = std::min<std::size_t>(bytes.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, bytes.begin());
  return count;
}

FileSource::FileSource(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = open_regular(path);
  if (descriptor_ < 0) throw Error(ExitCode::kInputMissing, "cannot open " + name_ + ": " + std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) status.st_size = 0;
  size_ = static_cast<std::uint64_t>(status.st_size);
}

FileSource::~FileSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileSource::FileSource(FileSource&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

std::size_t FileSource::read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Error(ExitCode::kInputOutput,
                  "cannot read " + name_ + " at offset " + std::to_string(offset + done) + ": " + std::strerror(errno));
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted) {
  std::array<std::uint8_t, kContentBytes> begin{};
  ContentKind kind = content_kind(std::span(begin).first(source.read_at(0, begin)));
  if (!is_gzip(source)) return kind;
  const ContentKind inner = packed_kind(source);
  if (inner.what.empty()) return kind;
  kind.what += " that holds " + inner.what;
  if (inner.group == ContentGroup::kPacked) {
    kind.remedy = then_unpack(kind.remedy, inner);
  } else if (inner.group != wanted) {
    kind.remedy = inner.remedy;
  }
  return kind;
}

std::string describe_unpacked(const ByteSource& source, const std::string& remedy) {
  const ContentKind kind = content_kind_of(source);
  if (kind.what.empty() || (is_gzip(source) && packed_kind(source).what.empty())) return "";
  return "is " + kind.what + ": " + (kind.remedy.empty() ? remedy : kind.remedy);
}

}  // namespace eave
