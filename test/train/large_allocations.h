// How often this program asked for 4 KiB or more at once.
#pragma once

namespace eave {

long large_allocations();

}  // namespace eave
