// Reads a gzip-compressed source from its beginning. It may have several members, one after another (RFC 1952), with
// zeros behind any of them. gzip(1) and Python's gzip accept the same files. Any other byte behind a member is an
// error, because it may be the rest of damaged data; gzip(1) only warns of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/files/byte_source.h"

namespace eave {

bool is_gzip(const ByteSource& source);

class GzipReader {
 public:
  explicit GzipReader(const ByteSource& source);  // outlives the reader
  ~GzipReader();
  // Like ByteSource::read_at, from where the last read ended. Throws Error(kBadData) if the data is damaged or cut off.
  // The checksum of a member is verified at its end.
  std::size_t read(std::span<std::uint8_t> bytes);
  // Throws Error(kBadData) unless all data was read.
  void require_end();

 private:
  bool refill();  // returns false at the end of the source
  void begin_next_member();
  [[noreturn]] void fail(const std::string& what) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
