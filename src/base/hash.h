// XXH3 with 128 bits (libxxhash). It detects changes by a disk, a cable or a torn write. It does not protect against
// forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace eave {

struct Hash128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  std::string text() const;  // 32 digits, 0-9 and a-f
};

Hash128 hash_of(std::string_view bytes);

// Hashes bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::string_view bytes);
  Hash128 hash() const;  // of all bytes so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eave
