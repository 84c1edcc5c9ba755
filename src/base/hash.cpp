#include "base/hash.h"

#ifdef EAVE_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <array>
#include <cstdio>
#include <new>

namespace eave {
namespace {

Hash128 of(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

}  // namespace

struct Hasher::State {
  XXH3_state_t* state = XXH3_createState();
  ~State() { XXH3_freeState(state); }
};

std::string Hash128::text() const {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text.data();
}

Hash128 hash_of(std::string_view bytes) { return of(XXH3_128bits(bytes.data(), bytes.size())); }

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (state_->state == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_->state);
}

Hasher::~Hasher() = default;
void Hasher::add(std::string_view bytes) { XXH3_128bits_update(state_->state, bytes.data(), bytes.size()); }
Hash128 Hasher::hash() const { return of(XXH3_128bits_digest(state_->state)); }

}  // namespace eave
