#include "transport/mpi_wire.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "transport/mpi_check.h"
#include "transport/patience.h"

namespace eave {
namespace {

enum Tag { kScatter = 1, kGather, kLength, kText };

constexpr std::size_t kInFlightBytes = std::size_t{1} << 24;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // of a long text: MPI counts in int

void add(const float* values, float* sum, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
}

}  // namespace

MpiWire::MpiWire(MPI_Comm communicator, std::size_t part) : communicator_(communicator), part_(part) {
  EAVE_MPI(MPI_Comm_rank(communicator_, &rank_));
  EAVE_MPI(MPI_Comm_size(communicator_, &size_));
  const std::size_t slot_bytes = part_ * static_cast<std::size_t>(size_) * sizeof(float);
  slots_.resize(std::clamp(kInFlightBytes / slot_bytes, std::size_t{2}, std::size_t{16}));
}

// The first `size % size_` parts are one value longer.
Slice MpiWire::part_of(Slice segment, int rank) const {
  const auto r = static_cast<std::size_t>(rank), p = static_cast<std::size_t>(size_);
  const std::size_t share = segment.size() / p, rest = segment.size() % p;
  return segment.subspan(r * share + std::min(r, rest), share + (r < rest ? 1 : 0));
}

template <class Scatter, class Combine, class Gather>
void MpiWire::in_segments(Slice values, Scatter start_scatter, Combine combine, Gather start_gather) {
  const std::size_t length = part_ * static_cast<std::size_t>(size_);
  const std::size_t count = (values.size() + length - 1) / length, ahead = slots_.size() - 1;
  const auto segment = [&](std::size_t k) {
    return values.subspan(k * length, std::min(length, values.size() - k * length));
  };
  const auto slot = [this](std::size_t k) -> Slot& { return slots_[k % slots_.size()]; };
  for (std::size_t k = 0; k < count + ahead; ++k) {
    if (k < count) start_scatter(segment(k), slot(k));
    if (k < ahead) continue;
    const std::size_t next = k - ahead;
    wait_for(slot(next).scattering);
    combine(segment(next), slot(next));
    wait_for(slot(next).gathering);
    start_gather(segment(next), slot(next));
  }
  for (Slot& each : slots_) wait_for(each.gathering);
}

void MpiWire::all_reduce_sum(Slice values, std::span<const int> ranks) {
  EAVE_CHECK(ranks.empty(), "groups over mpi are not there yet");
  in_segments(
      values, [this](Slice segment, Slot& slot) { scatter(segment, slot); },
      [this](Slice segment, Slot& slot) { sum(segment, slot); },
      [this](Slice segment, Slot& slot) { gather(segment, -1, slot); });
}

void MpiWire::broadcast(Slice values, int root) {
  in_segments(
      values, [this, root](Slice segment, Slot& slot) { hand_out(segment, root, slot); }, [](Slice, Slot&) {},
      [this, root](Slice segment, Slot& slot) { gather(segment, root, slot); });
}

// `root` sends every rank its part.
void MpiWire::hand_out(Slice segment, int root, Slot& slot) {
  const std::lock_guard lock(in_mpi_);
  if (rank_ != root) return receive(std::as_writable_bytes(part_of(segment, rank_)), root, kScatter, slot.scattering);
  for (int peer = 0; peer < size_; ++peer)
    if (peer != root) send(std::as_bytes(part_of(segment, peer)), peer, kScatter, slot.scattering);
}

// Sends every rank its part of this rank's segment, and receives the others' share of the own part one behind the
// other.
void MpiWire::scatter(Slice segment, Slot& slot) {
  const std::size_t mine = part_of(segment, rank_).size();
  std::vector<float>& received = slot.received;
  received.resize(std::max(received.size(), mine * static_cast<std::size_t>(size_ - 1)));
  const std::lock_guard lock(in_mpi_);
  std::size_t at = 0;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    receive(std::as_writable_bytes(Slice(received).subspan(at, mine)), peer, kScatter, slot.scattering);
    at += mine;
  }
  for (int step = 1; step < size_; ++step) {  // starting behind itself, so that ranks do not all send to rank 0 first
    const int peer = (rank_ + step) % size_;
    send(std::as_bytes(part_of(segment, peer)), peer, kScatter, slot.scattering);
  }
}

// In rank order: ((x0 + x1) + x2) + …, so this rank's own part stands at its place in the row, not first.
void MpiWire::sum(Slice segment, Slot& slot) {
  const Slice mine = part_of(segment, rank_);
  const auto row = [&](int number) { return slot.received.data() + static_cast<std::size_t>(number) * mine.size(); };
  for (int number = 1; number < rank_; ++number) add(row(number), row(0), mine.size());
  if (rank_ > 0) add(row(0), mine.data(), mine.size());
  for (int number = rank_; number < size_ - 1; ++number) add(row(number), mine.data(), mine.size());
}

// Sends the own part to all, and receives theirs in place. `root` has them all already; -1: nobody has.
void MpiWire::gather(Slice segment, int root, Slot& slot) {
  const std::lock_guard lock(in_mpi_);
  for (int peer = 0; peer < size_ && rank_ != root; ++peer)
    if (peer != rank_) receive(std::as_writable_bytes(part_of(segment, peer)), peer, kGather, slot.gathering);
  for (int step = 1; step < size_; ++step) {
    const int peer = (rank_ + step) % size_;
    if (peer != root) send(std::as_bytes(part_of(segment, rank_)), peer, kGather, slot.gathering);
  }
}

std::vector<std::string> MpiWire::all_gather(const std::string& mine) {
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size_), length);
  std::vector<std::string> all(static_cast<std::size_t>(size_), mine);
  const auto at = [](int peer) { return static_cast<std::size_t>(peer); };
  tell_all(std::as_bytes(std::span(&length, 1)), kLength,
           [&](int peer) { return std::as_writable_bytes(std::span(&lengths[at(peer)], 1)); });
  tell_all(std::as_bytes(std::span(mine)), kText, [&](int peer) {
    all[at(peer)].resize(lengths[at(peer)]);
    return std::as_writable_bytes(std::span(all[at(peer)]));
  });
  return all;
}

void MpiWire::tell_all(ConstBytes mine, int tag, const std::function<Bytes(int)>& theirs_of) {
  Requests requests;
  {
    const std::lock_guard lock(in_mpi_);
    for (int peer = 0; peer < size_; ++peer)
      if (peer != rank_) receive(theirs_of(peer), peer, tag, requests);
    for (int peer = 0; peer < size_; ++peer)
      if (peer != rank_) send(mine, peer, tag, requests);
  }
  wait_for(requests);
}

void MpiWire::send(ConstBytes bytes, int to, int tag, Requests& requests) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size())))
    EAVE_MPI(MPI_Isend(bytes.data(), static_cast<int>(std::min(kPiece, bytes.size())), MPI_BYTE, to, tag, communicator_,
                       &requests.emplace_back()));
}

void MpiWire::receive(Bytes bytes, int from, int tag, Requests& requests) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size())))
    EAVE_MPI(MPI_Irecv(bytes.data(), static_cast<int>(std::min(kPiece, bytes.size())), MPI_BYTE, from, tag,
                       communicator_, &requests.emplace_back()));
}

void MpiWire::wait_for(Requests& requests) {
  Patience patience;
  while (!requests.empty()) {
    if (advance(requests)) {
      patience.renew();
    } else {
      patience.sleep();
    }
  }
}

// Lets MPI work, and takes out what is done. Tells whether anything was.
bool MpiWire::advance(Requests& requests) {
  const std::lock_guard lock(in_mpi_);
  const std::size_t before = requests.size();
  int done = 1;
  while (!requests.empty() && done) {
    EAVE_MPI(MPI_Test(&requests.back(), &done, MPI_STATUS_IGNORE));
    if (done) requests.pop_back();
  }
  return requests.size() < before;
}

void MpiWire::abort(ExitCode code) noexcept {
  // MPI_Abort may block when the network is gone.
  std::thread([code] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(static_cast<int>(code));
  }).detach();
  if (in_mpi_.try_lock_for(std::chrono::seconds(1))) MPI_Abort(communicator_, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace eave
