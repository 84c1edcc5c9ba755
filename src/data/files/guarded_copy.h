// Copies bytes out of a mapped file and survives pages that cannot be read. Such a page, because the file was cut or
// the disk fails, raises SIGBUS, which would end the process.
#pragma once

#include <cstdint>
#include <span>

namespace eave {

// Whether this file's handler receives SIGBUS. The first call installs the handler. The handler passes any SIGBUS that
// is not from a guarded copy on to the handler before it. If other code has since installed a handler of its own, this
// returns false and leaves that handler alone.
bool guards_copies();

// Copies to.size() bytes from index `first` of `mapping`, which maps a whole file. Call only while guards_copies() is
// true. Several threads may call it at once.
//
// Returns false if a page cannot be read; `to` is then partly written. Also returns false if the file may have been cut
// within the last page copied. The rest of such a page reads as zeros and raises nothing. So zeros from the last copied
// byte to the end of its page count as a cut.
bool copy_guarded(std::span<const std::uint8_t> mapping, std::size_t first, std::span<std::uint8_t> to);

}  // namespace eave
