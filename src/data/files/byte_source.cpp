#include "data/files/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/files/output_path.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

// Nothing if the gzip file is damaged.
std::optional<ContentKind> packed_kind(const ByteSource& source) {
  std::array<std::uint8_t, kContentBytes> begin{};
  try {
    return content_kind(std::span(begin).first(GzipReader(source).read(begin)));
  } catch (const Error&) {
    return std::nullopt;
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
  if (descriptor_ < 0) {
    const bool is_there = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    throw Error(ExitCode::kInputMissing,
                "cannot open " + name_ + ": " + (is_there ? words_of_error(errno) : why_no_file(path)));
  }
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
    const ssize_t count = uninterrupted([&] {
      return ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    });
    if (count < 0) {
      throw Error(ExitCode::kInputOutput,
                  "cannot read " + name_ + " at offset " + std::to_string(offset + done) + ": " + std::strerror(errno));
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

bool is_gzip(const ByteSource& source) {
  std::array<std::uint8_t, 2> magic{};
  return source.read_at(0, magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

struct GzipReader::State {
  explicit State(const ByteSource& from) : source(from) {}
  const ByteSource& source;
  z_stream stream{};
  std::array<std::uint8_t, 1 << 16> input{};
  std::uint64_t offset = 0;  // offset in the source of the byte after `input`
  std::uint64_t produced = 0;
  bool ended = false;
};

GzipReader::GzipReader(const ByteSource& source) : state_(std::make_unique<State>(source)) {
  constexpr int kGzipOnly = 16;
  const int result = inflateInit2(&state_->stream, MAX_WBITS + kGzipOnly);
  if (result != Z_OK) throw Error(ExitCode::kResource, "zlib cannot start: " + std::string(zError(result)));
}

GzipReader::~GzipReader() { inflateEnd(&state_->stream); }

void GzipReader::fail(const std::string& what) const {
  throw Error(ExitCode::kBadData, state_->source.name() + ": " + what + " at offset " +
                                      std::to_string(state_->offset - state_->stream.avail_in) +
                                      " of the compressed file, after " + count_text(state_->produced, "byte") +
                                      " of content; get the file again");
}

bool GzipReader::refill() {
  State& state = *state_;
  if (state.stream.avail_in != 0) return true;
  const std::size_t count = state.source.read_at(state.offset, state.input);
  state.offset += count;
  state.stream.next_in = state.input.data();
  state.stream.avail_in = static_cast<uInt>(count);
  return count != 0;
}

void GzipReader::begin_next_member() {
  State& state = *state_;
  while (refill() && *state.stream.next_in == 0) {
    ++state.stream.next_in;
    --state.stream.avail_in;
  }
  state.ended = state.stream.avail_in == 0;
  if (state.ended) return;
  if (*state.stream.next_in != 0x1f) fail("something that is neither gzip data nor zeros stands behind the gzip data,");
  inflateReset(&state.stream);
}

std::size_t GzipReader::read(std::span<std::uint8_t> bytes) {
  State& state = *state_;
  std::size_t done = 0;
  while (done < bytes.size() && !state.ended) {
    if (!refill()) fail("the gzip data is cut off");
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes.size() - done, 1 << 30));
    state.stream.next_out = bytes.data() + done;
    state.stream.avail_out = room;
    const int result = inflate(&state.stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      fail("the gzip data is damaged (" + std::string(state.stream.msg ? state.stream.msg : zError(result)) + ")");
    }
    done += room - state.stream.avail_out;
    state.produced += room - state.stream.avail_out;
    if (result == Z_STREAM_END) begin_next_member();
  }
  return done;
}

void GzipReader::require_end() {
  std::array<std::uint8_t, 1> more{};
  if (read(more) != 0) fail("the gzip data holds more than its header declares,");
}

ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted) {
  std::array<std::uint8_t, kContentBytes> begin{};
  ContentKind kind = content_kind(std::span(begin).first(source.read_at(0, begin)));
  if (!is_gzip(source)) return kind;
  const auto packed = packed_kind(source);
  const ContentKind inner = packed.value_or(ContentKind());
  kind.is_sure = packed.has_value();
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
  if (kind.what.empty() || (is_gzip(source) && packed_kind(source).value_or(ContentKind()).what.empty())) return "";
  return "is " + kind.what + ": " + (kind.remedy.empty() ? remedy : kind.remedy);
}

}  // namespace eave
