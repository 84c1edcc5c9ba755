// How texts travel between ranks, and how several texts are packed into one.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "transport/core/operation.h"

namespace eave {

// Whether rank `to` gets rank `from`'s text. For all routes but kFirstToEach.
inline bool is_delivered(TextRoute route, int from, int to) {
  return route == TextRoute::kAllToAll || (route == TextRoute::kAllToFirst ? to == 0 : from == 0);
}

constexpr Operation::Verb verb_of(TextRoute route) {
  using Verb = Operation::Verb;
  if (route == TextRoute::kAllToAll) return Verb::kAllGather;
  if (route == TextRoute::kFirstToEach) return Verb::kScatter;
  return route == TextRoute::kAllToFirst ? Verb::kGather : Verb::kBroadcastText;
}

// Packs several texts into one, each behind its length.
void append_text(std::string& packed, std::string_view text);
std::vector<std::string> unpack_texts(std::string_view packed);

// The binomial tree of `ranks` ranks, with rank 0 at its root. A rank's subtree is a range of consecutive ranks that
// begins with it. No rank has more than log2 `ranks` (rounded up) children, or is further than that from rank 0.
inline int parent_of(int rank) { return rank & (rank - 1); }

// One past the last rank of its subtree.
inline int end_of_subtree(int rank, int ranks) {
  return rank == 0 ? ranks : std::min(ranks, rank + (1 << std::countr_zero(static_cast<unsigned>(rank))));
}

// Ascending. Each child's subtree begins where that of the previous child ends.
std::vector<int> children_of(int rank, int ranks);

}  // namespace eave
