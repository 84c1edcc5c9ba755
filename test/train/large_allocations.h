// Counts the allocations of 4 KiB or more since the program began, in all threads. A test program that links
// large_allocations.cpp counts them.
#pragma once

namespace eave {

long large_allocations();

}  // namespace eave
