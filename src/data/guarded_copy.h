// Copies out of a file's mapping. A page of it that cannot be had, as the file was cut or the disk fails, raises
// SIGBUS, which ends a process.
#pragma once

#include <cstdint>
#include <span>

namespace eave {

// Whether SIGBUS comes here. The first call takes it over, and passes on to who had it before what is of no guarded
// copy. From then on it is false where somebody else took it: that is left alone.
bool guards_copies();

// Copies count bytes from `first` on, a place in `mapping`, a whole file's. False where a page cannot be had; `to` is
// then written in part. Only while guards_copies(). From several threads at once.
//
// False, too, where the file may have been cut within the last page copied, which then shows zeros and raises nothing:
// when zeros stand there from the last byte copied on.
bool copy_guarded(std::span<const std::uint8_t> mapping, std::size_t first, std::span<std::uint8_t> to);

}  // namespace eave
