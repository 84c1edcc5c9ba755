// For processors of another family than x86-64.
#include "eave/check.h"
#include "transport/tcp/tcp_ghash.h"

namespace eave {

bool Ghash::is_supported() { return false; }

Ghash::Ghash(const Block&) { EAVE_CHECK(false, "this processor has no GHASH of eave's own"); }

void Ghash::begin() {}

void Ghash::add(std::span<const std::byte>) {}

Ghash::Block Ghash::end() { return {}; }

void Ghash::fold(std::span<const std::byte>) {}

}  // namespace eave
