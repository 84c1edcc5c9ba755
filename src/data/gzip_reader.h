// Reads a gzip'd source from its front: one member or several, one after another (RFC 1952), and zeros behind any of
// them. gzip(1) and Python's gzip read such files in the same way. Anything else behind a member is an error, which
// gzip(1) only warns of: it may be the rest of damaged data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/byte_source.h"

namespace eave {

bool is_gzip(const ByteSource& source);

class GzipReader {
 public:
  explicit GzipReader(const ByteSource& source);  // outlives the reader
  ~GzipReader();
  // As ByteSource::read_at, after what was read before. Throws Error(kBadData) when the data is damaged or cut off; the
  // checksum of a member is verified at its end.
  std::size_t read(std::span<std::uint8_t> bytes);
  // Throws Error(kBadData) unless everything was read.
  void require_end();

 private:
  bool refill();  // false: the source has ended
  void begin_next_member();
  [[noreturn]] void fail(const std::string& what) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
