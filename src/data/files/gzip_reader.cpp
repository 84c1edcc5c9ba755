#include "data/files/gzip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {

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

}  // namespace eave
