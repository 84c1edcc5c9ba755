#include "transport/mpi/mpi_server.h"

#include <algorithm>
#include <utility>

#include "transport/mpi/mpi_check.h"
#include "transport/threads/patience.h"

namespace eave {

MpiServer::MpiServer(MpiMessages& messages)
    : messages_(messages), most_visits_(static_cast<std::size_t>(kRequestWindow * (messages.size() - 1))) {
  visits_.reserve(most_visits_);
  free_.reserve(most_visits_);
}

MpiServer::~MpiServer() {
  if (coming_ == MPI_REQUEST_NULL) return;
  const std::lock_guard lock(messages_.in_mpi());
  MPI_Cancel(&coming_);
  MPI_Request_free(&coming_);
}

void MpiServer::open(Service* service) {
  {
    const std::lock_guard lock(service_mutex_);
    service_ = service;
    is_withdrawn_ = false;
  }
  is_open_ = true;
  await_header();
}

void MpiServer::close() {
  if (!is_open_) return;
  for (Patience patience; !visits_.empty(); patience.sleep()) attend();
  const std::lock_guard lock(messages_.in_mpi());
  EAVE_MPI(MPI_Cancel(&coming_));
  EAVE_MPI(MPI_Wait(&coming_, MPI_STATUS_IGNORE));
  is_open_ = false;
}

void MpiServer::withdraw() noexcept {
  const std::lock_guard lock(service_mutex_);
  is_withdrawn_ = is_withdrawn_ || service_;
  service_ = nullptr;
}

bool MpiServer::is_withdrawn() {
  const std::lock_guard lock(service_mutex_);
  return is_withdrawn_;
}

void MpiServer::await_header() {
  const std::lock_guard lock(messages_.in_mpi());
  EAVE_MPI(MPI_Irecv(&header_, sizeof header_, MPI_BYTE, MPI_ANY_SOURCE,
                     messages_.tag_with(kRequestHeaderTag, sizeof header_), messages_.communicator(), &coming_));
}

bool MpiServer::attend() {
  if (!is_open_) return false;
  bool moved = false;
  // A sender may have its reply, and send its next request, before MPI reports here that the reply has left. The limit
  // makes such a request wait, so that it takes no more memory.
  while (visits_.size() < most_visits_ && take_header()) moved = true;
  for (std::size_t k = 0; k < visits_.size(); ++k) moved |= move(*visits_[k]);
  const auto gone = std::partition(visits_.begin(), visits_.end(), [](const auto& visit) {
    return visit->stage != Visit::Stage::kLeaving || !visit->messages.empty();
  });
  std::move(gone, visits_.end(), std::back_inserter(free_));
  visits_.erase(gone, visits_.end());
  return moved;
}

bool MpiServer::take_header() {
  int done = 0;
  MPI_Status status;
  {
    const std::lock_guard lock(messages_.in_mpi());
    EAVE_MPI(MPI_Test(&coming_, &done, &status));
  }
  if (!done) return false;
  admit(status.MPI_SOURCE);
  await_header();
  return true;
}

void MpiServer::admit(int from) {
  if (free_.empty()) free_.push_back(std::make_unique<Visit>());
  Visit& visit = *visits_.emplace_back(std::move(free_.back()));
  free_.pop_back();
  visit.stage = Visit::Stage::kComing;
  visit.from = from;
  visit.header = header_;
  visit.refused_at = -1;
  if (visit.buffer.size() < header_.count) visit.buffer.resize(header_.count);
  const std::lock_guard lock(messages_.in_mpi());
  messages_.receive(std::as_writable_bytes(visit.values()), from, tag_of_values(header_.slot), visit.messages,
                    kRequestPiece);
}

bool MpiServer::move(Visit& visit) {
  const bool advanced = messages_.advance(visit.messages);
  if (visit.stage == Visit::Stage::kComing && visit.messages.empty()) visit.stage = Visit::Stage::kWaiting;
  return (visit.stage == Visit::Stage::kWaiting && offer(visit)) || advanced;
}

bool MpiServer::offer(Visit& visit) {
  if (visit.refused_at == answers_) return false;
  visit.refused_at = answers_;
  if (!answer(visit.from, visit.header.key, visit.values())) return false;
  visit.stage = Visit::Stage::kLeaving;
  const std::lock_guard lock(messages_.in_mpi());
  messages_.send(std::as_bytes(visit.values()), visit.from, tag_of_reply(visit.header.slot), visit.messages,
                 kRequestPiece);
  return true;
}

bool MpiServer::answer_own(const ServiceRequest& request) {
  return answer(messages_.rank(), request.key, request.values);
}

bool MpiServer::answer(int from, std::int64_t key, Slice values) {
  const std::lock_guard lock(service_mutex_);
  if (!service_ || !service_->answer(from, key, values)) return false;
  ++answers_;
  return true;
}

}  // namespace eave
