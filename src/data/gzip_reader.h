// Reads a gzip'd source from its front.
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
  // As ByteSource::read_at, after what was read before. Throws Error(kBadData) when the stream is damaged or cut off;
  // its checksum is verified when its end is met.
  std::size_t read(std::span<std::uint8_t> bytes);
  // Throws Error(kBadData) unless everything was read and nothing stands behind it.
  void require_end();

 private:
  void refill();
  [[noreturn]] void fail(const std::string& what) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
