// How often this program asked for memory.
#pragma once

namespace eave {

long allocations();

}  // namespace eave
