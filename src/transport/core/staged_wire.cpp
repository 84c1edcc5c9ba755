#include "transport/core/staged_wire.h"

#include <algorithm>
#include <limits>

#include "transport/codecs/codec.h"

namespace eave {
namespace {

constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

// However an operation ends, no copy may remain in flight on the caller's values.
class CopiesEnd {
 public:
  explicit CopiesEnd(CopyQueue& copies) : copies_(copies) {}
  CopiesEnd(const CopiesEnd&) = delete;
  CopiesEnd& operator=(const CopiesEnd&) = delete;
  ~CopiesEnd() {
    try {
      copies_.wait();
    } catch (...) {  // the device has failed; its next call reports that
    }
  }

 private:
  CopyQueue& copies_;
};

}  // namespace

StagedWire::StagedWire(Wire& wire, Device& device)
    : wire_(wire), device_(device), has_own_memory_(device.kind() != DeviceKind::kCpu) {
  if (!has_own_memory_) return;
  copies_ = device_.make_copy_queue();
  if (wire_.piece() == kWhole) return;  // grow() allocates when needed
  for (Buffer& each : pinned_) each = device_.allocate_for_host(wire_.piece());
}

std::size_t StagedWire::size_for(ConstSlice values, std::span<const ServiceRequest> requests) const {
  std::size_t size = stages(values) ? std::min(values.size(), wire_.piece()) : 0;
  for (const ServiceRequest& each : requests)
    if (stages(each.values)) size += each.values.size();
  return size;
}

void StagedWire::grow(std::size_t size) {
  device_.wait();
  pinned_.front() = {};  // freed first, so that the two never exist together
  pinned_.front() = device_.allocate_for_host(size);
}

Slice StagedWire::piece(Slice values, std::size_t number) const {
  const std::size_t at = number == 0 ? 0 : number * wire_.piece();
  return values.subspan(at, std::min(wire_.piece(), values.size() - at));
}

template <class Carry>
void StagedWire::in_pieces(Slice values, bool come, bool go, Carry carry) {
  if (stages(values)) return in_staged_pieces(values, come, go, carry);
  std::size_t done = 0;
  for (std::size_t k = 0; k == 0 || done < values.size(); ++k) {  // an empty slice is one piece: ranks meet
    carry(piece(values, k));
    done += piece(values, k).size();
  }
}

template <class Carry>
void StagedWire::in_staged_pieces(Slice values, bool come, bool go, Carry carry) {
  const CopiesEnd copies_end(*copies_);
  const std::size_t count = (values.size() - 1) / wire_.piece() + 1;
  const auto fetch = [&](std::size_t k) {
    if (come && k < count) copies_->read(piece(values, k), pinned(k, piece(values, k).size()));
  };
  fetch(0);
  copies_->wait();
  for (std::size_t k = 0; k < count; ++k) {
    const Slice mine = piece(values, k), on_wire = pinned(k, mine.size());
    fetch(k + 1);
    carry(on_wire);
    // Waits for the next piece to arrive. Also for the previous piece: the piece after next uses its memory.
    copies_->wait();
    if (go) copies_->write(mine, on_wire);
  }
  copies_->wait();
}

void StagedWire::all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) {
  if (ranks.size() == 1) return;
  if (!compression.codec)
    return in_pieces(values, true, true, [&](Slice piece) { wire_.all_reduce_sum(piece, ranks); });
  std::size_t at = 0;
  in_pieces(values, true, true, [&](Slice piece) {
    wire_.sum_compressed(piece, ranks,
                         {compression.codec, compression.residual.subspan(at, piece.size()),
                          compression.first_block + at / Codec::kBlock});
    at += piece.size();
  });
}

void StagedWire::broadcast(Slice values, int root) {
  const bool is_root = wire_.rank() == root;
  in_pieces(values, is_root, !is_root, [&](Slice piece) { wire_.broadcast(piece, root); });
}

void StagedWire::request(std::span<const ServiceRequest> requests) {
  if (!has_own_memory_) return wire_.request(requests);
  const CopiesEnd copies_end(*copies_);
  requests_.assign(requests.begin(), requests.end());
  std::size_t at = 0;
  for (ServiceRequest& each : requests_) {
    if (!stages(each.values)) continue;
    const Slice staged = pinned_.front().slice().subspan(at, each.values.size());
    copies_->read(each.values, staged);
    each.values = staged;
    at += staged.size();
  }
  copies_->wait();
  wire_.request(requests_);
  for (std::size_t k = 0; k < requests.size(); ++k)
    if (stages(requests[k].values)) copies_->write(requests[k].values, requests_[k].values);
  copies_->wait();
}

}  // namespace eave
