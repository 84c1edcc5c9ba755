#include "transport/messages/message_wire.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "transport/core/call_record.h"
#include "transport/core/text_routes.h"
#include "transport/core/transport_base.h"

namespace eave {
namespace {

// MessageTexts has kTexts to 11, shared memory 12 and 13.
enum Tag { kScatter = 1, kGather, kExchange, kTexts };

constexpr std::size_t kSlots = 13;
// Jobs of more ranks take memory for their slots when they first need it.
constexpr int kMostPrepared = 8;

class OneSum final : public SumQueue {
 public:
  explicit OneSum(Slice values) : values_(values) {}
  std::optional<Slice> next() override { return std::exchange(values_, std::nullopt); }
  void done() override {}

 private:
  std::optional<Slice> values_;
};

class HeldSends {
 public:
  explicit HeldSends(Messages& messages) : messages_(messages) { messages_.hold_sends(true); }
  HeldSends(const HeldSends&) = delete;
  HeldSends& operator=(const HeldSends&) = delete;
  ~HeldSends() { messages_.hold_sends(false); }

 private:
  Messages& messages_;
};

void add(const float* values, float* sum, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
}

}  // namespace

class MessageWire::CountedSums final : public SumQueue {
 public:
  CountedSums(MessageWire& wire, SumQueue& queue) : wire_(wire), queue_(queue) {}
  std::optional<Slice> next() override {
    const std::optional<Slice> values = queue_.next();
    if (values) wire_.count_call(Operation::Verb::kAllReduceSum, values->size_bytes());
    return values;
  }
  void done() override { queue_.done(); }

 private:
  MessageWire& wire_;
  SumQueue& queue_;
};

MessageWire::MessageWire(std::unique_ptr<Messages> messages, MessageWireSettings settings)
    : messages_(std::move(messages)),
      server_(*messages_),
      requester_(*messages_, server_),
      settings_(std::move(settings)),
      chunk_sizes_{settings_.part == 0 ? slow_link_chunks()
                                       : ChunkSizes{settings_.part, fast_link_chunks().in_flight_bytes,
                                                    fast_link_chunks().request, false}},
      texts_(*messages_, kTexts, [this](Requests& requests) { wait_for(requests); }),
      compressed_(*this, rank(), size()) {
  all_ = all_ranks(size());
  slots_.resize(kSlots);
  if (size() <= kMostPrepared) prepare_slots();
  if (!settings_.hosts.empty()) share_memory();
  if (settings_.sums_by_host && !settings_.hosts.empty()) hierarchical_sum_.emplace(settings_.hosts, rank());
  if (settings_.part > 0) return;
  const std::set<int> hosts(settings_.hosts.begin(), settings_.hosts.end());
  chunk_sizes_ = agree_on_chunk_sizes(
      size(), hosts.empty() ? size() : static_cast<int>(hosts.size()),
      [this](Slice values) {
        OneSum alone(values);
        sum_by_messages(alone, team_of({}));
      },
      [this](double mine) { return largest(mine, all_); });
}

// Reserved memory costs nothing until it is used. So a job allocates none later, whichever slots its first sums use.
void MessageWire::prepare_slots() {
  const auto others = static_cast<std::size_t>(size() - 1);
  for (Slot& slot : slots_)
    for (Stage& stage : slot.stages) {
      stage.requests.reserve(2 * others);
      stage.received.reserve(fast_link_chunks().part * others);
    }
}

MessageWire::Team MessageWire::team_of(std::span<const int> ranks) const {
  if (ranks.empty()) ranks = all_;
  const auto place = static_cast<int>(std::ranges::find(ranks, rank()) - ranks.begin());
  return {ranks, place, static_cast<int>(ranks.size())};
}

void MessageWire::count_call(Operation::Verb verb, std::size_t bytes, int root) noexcept {
  history_ = static_cast<std::uint32_t>(continue_history(history_, verb, static_cast<std::int64_t>(bytes), root));
}

// A segment begins a phase as soon as the messages of its previous phase have come. In each phase, segments keep their
// order. So a late phase of one segment never waits for an early phase of another.
template <class... Phases>
void MessageWire::in_segments(SumQueue& queue, int parts, Phases... phases) {
  constexpr std::size_t count = sizeof...(Phases);
  const std::size_t length = chunk_sizes_.part * static_cast<std::size_t>(parts),
                    most =
                        std::clamp(2 * chunk_sizes_.in_flight_bytes / (length * sizeof(float)), std::size_t{2}, kSlots);
  // begun[k]: how many segments have begun phase k. The last entry counts the segments that have ended.
  std::array<std::size_t, count + 1> begun{};
  const auto slot_of = [&](std::size_t number) -> Slot& { return slots_[number % kSlots]; };
  const auto begin = [&](std::size_t phase) {
    Slot& slot = slot_of(begun[phase]++);
    std::size_t each = 0;
    ((each++ == phase ? phases(slot.segment, slot) : void()), ...);
  };
  std::optional<Slice> rest;
  const auto take = [&] {
    if (begun.front() - begun.back() == most || (!rest && !(rest = queue.next()))) return false;
    Slot& slot = slot_of(begun.front());
    slot.segment = rest->first(std::min(length, rest->size()));
    *rest = rest->subspan(slot.segment.size());
    slot.ends_sum = rest->empty();
    for (Stage& stage : slot.stages) stage.history = history_;
    if (slot.ends_sum) rest.reset();
    begin(0);
    return true;
  };
  const HeldSends held(*messages_);
  backoff_.reset();
  for (bool has_napped = false;;) {
    bool moved = take();
    std::int64_t ended = 0;  // phases of segments
    if (begun.back() == begun.front()) return;
    for (std::size_t phase = count; phase-- > 0;) {  // the last phase first: it frees slots
      if (begun[phase + 1] == begun[phase]) continue;
      Slot& slot = slot_of(begun[phase + 1]);
      moved |= messages_->advance(slot[phase].requests);
      if (!slot[phase].requests.empty()) continue;
      moved = true;
      ++ended;
      if (phase + 1 < count) {
        begin(phase + 1);
        continue;
      }
      ++begun.back();
      if (slot.ends_sum) queue.done();
    }
    if (ended > 0) backoff_.event(ended);
    has_napped = !server_.poll_requests() && !moved && pause_for(begun.front() - begun.back(), !has_napped);
  }
}

void MessageWire::all_reduce_sum(Slice values, std::span<const int> ranks) {
  const Team team = team_of(ranks);
  if (team.size() == 1) return;
  if (team.size() == size()) count_call(Operation::Verb::kAllReduceSum, values.size_bytes());
  OneSum alone(values);
  if (hierarchical_sum_ && hierarchical_sum_->arrange(team.ranks)) return sum_by_host(alone);
  if (shared_memory_sum_ && std::ranges::equal(team.ranks, of_host_)) return sum_on_host(values);
  sum_by_messages(alone, team);
}

void MessageWire::all_reduce_sums(SumQueue& queue) {
  if (shared_memory_sum_ && of_host_.size() == all_.size()) return Wire::all_reduce_sums(queue);
  CountedSums counted(*this, queue);
  if (hierarchical_sum_ && hierarchical_sum_->arrange(all_)) return sum_by_host(counted);
  sum_by_messages(counted, team_of({}));
}

void MessageWire::sum_by_messages(SumQueue& queue, const Team& team) {
  in_segments(
      queue, team.size(), [&](Slice segment, Slot& slot) { scatter(segment, team, slot[0]); },
      [&](Slice segment, Slot& slot) {
        sum(segment, team, slot[0]);
        gather(segment, team, -1, slot[1]);
      });
}

void MessageWire::sum_by_host(SumQueue& queue) {
  Team within = team_of(hierarchical_sum_->within());
  within.owners = hierarchical_sum_->owners();
  const Team across = within.owns() ? team_of(hierarchical_sum_->across()) : Team{};
  const auto mine = [&](Slice segment) { return part_of(segment, within.place, within.owners); };
  in_segments(
      queue, within.owners * hierarchical_sum_->hosts(),
      [&](Slice segment, Slot& slot) { scatter(segment, within, slot[0]); },
      [&](Slice segment, Slot& slot) {
        if (!within.owns()) return;
        sum(segment, within, slot[0]);
        scatter(mine(segment), across, slot[1]);
      },
      [&](Slice segment, Slot& slot) {
        if (!within.owns()) return;
        sum(mine(segment), across, slot[1]);
        gather(mine(segment), across, -1, slot[2]);
      },
      [&](Slice segment, Slot& slot) { gather(segment, within, -1, slot[3]); });
}

void MessageWire::sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) {
  if (ranks.empty() || std::ssize(ranks) == size()) count_call(Operation::Verb::kAllReduceSum, values.size_bytes());
  compressed_.run(values, ranks, compression);
}

void MessageWire::broadcast(Slice values, int root) {
  count_call(Operation::Verb::kBroadcast, values.size_bytes(), root);
  const Team team = team_of({});
  OneSum alone(values);
  in_segments(
      alone, team.size(), [&](Slice segment, Slot& slot) { hand_out(segment, team, root, slot[0]); },
      [&](Slice segment, Slot& slot) { gather(segment, team, root, slot[1]); });
}

std::vector<std::string> MessageWire::texts(const std::string& mine, TextRoute route) {
  count_call(verb_of(route));
  return texts_.texts(mine, route, history_);
}

// The root sends every rank its part.
void MessageWire::hand_out(Slice segment, const Team& team, int root, Stage& stage) {
  const auto part = [&](int place) { return part_of(segment, place, team.size()); };
  const std::lock_guard lock(messages_->mutex());
  if (rank() != root)
    return receive(std::as_writable_bytes(part(rank())), root, {kScatter, stage.history}, stage.requests);
  for (int peer : team.ranks)
    if (peer != root) send(std::as_bytes(part(peer)), peer, {kScatter, stage.history}, stage.requests);
}

// Sends every owner its part of this rank's segment. Receives the other ranks' shares of this rank's part, one behind
// the other.
void MessageWire::scatter(Slice segment, const Team& team, Stage& stage) {
  const std::size_t mine = team.owns() ? part_of(segment, team.place, team.owners).size() : 0;
  std::vector<float>& received = stage.received;
  received.resize(std::max(received.size(), mine * static_cast<std::size_t>(team.size() - 1)));
  const std::lock_guard lock(messages_->mutex());
  std::size_t at = 0;
  for (int peer : team.ranks) {
    if (peer == rank()) continue;
    receive(std::as_writable_bytes(Slice(received).subspan(at, mine)), peer, {kScatter, stage.history}, stage.requests);
    at += mine;
  }
  for (int step = 1; step < team.size(); ++step) {  // starts behind its own place, so that not all send to rank 0 first
    const int place = (team.place + step) % team.size();
    if (place >= team.owners) continue;
    send(std::as_bytes(part_of(segment, place, team.owners)), team.rank_at(place), {kScatter, stage.history},
         stage.requests);
  }
}

// Adds up in the order of places: ((x0 + x1) + x2) + …. So this rank's part is added at its place, not first.
void MessageWire::sum(Slice segment, const Team& team, Stage& stage) {
  const Slice mine = part_of(segment, team.place, team.owners);
  const auto row = [&](int number) { return stage.received.data() + static_cast<std::size_t>(number) * mine.size(); };
  for (int number = 1; number < team.place; ++number) add(row(number), row(0), mine.size());
  if (team.place > 0) add(row(0), mine.data(), mine.size());
  for (int number = team.place; number < team.size() - 1; ++number) add(row(number), mine.data(), mine.size());
}

// Owners send their part to all, and every rank receives the parts of the others in place. The rank at place `root` has
// all parts already; -1: no rank has.
void MessageWire::gather(Slice segment, const Team& team, int root, Stage& stage) {
  const auto part = [&](int place) { return part_of(segment, place, team.owners); };
  const std::lock_guard lock(messages_->mutex());
  for (int place = 0; place < team.owners && team.place != root; ++place)
    if (place != team.place)
      receive(std::as_writable_bytes(part(place)), team.rank_at(place), {kGather, stage.history}, stage.requests);
  if (!team.owns()) return;
  for (int step = 1; step < team.size(); ++step) {
    const int place = (team.place + step) % team.size();
    if (place != root)
      send(std::as_bytes(part(team.place)), team.rank_at(place), {kGather, stage.history}, stage.requests);
  }
}

void MessageWire::start(std::size_t number, const ByteExchange& exchange) {
  if (exchanges_.size() <= number) exchanges_.resize(number + 1);
  const Team team = team_of(exchange.ranks);
  const auto at = [](int place) { return static_cast<std::size_t>(place); };
  const std::lock_guard lock(messages_->mutex());
  for (int place = 0; place < team.size(); ++place)
    if (place != team.place)
      receive(exchange.incoming[at(place)], team.rank_at(place), {kExchange, history_}, exchanges_[number]);
  for (int step = 1; step < team.size(); ++step) {
    const int place = (team.place + step) % team.size();
    send(exchange.outgoing[at(place)], team.rank_at(place), {kExchange, history_}, exchanges_[number]);
  }
}

// After the exchange of texts, all ranks are through with their old parts.
std::unique_ptr<Wire> MessageWire::split(int part) {
  const std::vector<std::string> parts = texts(std::to_string(part), TextRoute::kAllToAll);
  std::unique_ptr<Messages> messages = messages_->split(part);
  if (!messages) return nullptr;
  MessageWireSettings settings = settings_;
  settings.control = nullptr;
  settings.hosts.clear();
  for (std::size_t peer = 0; peer < settings_.hosts.size(); ++peer)
    if (parts[peer] == std::to_string(part)) settings.hosts.push_back(settings_.hosts[peer]);
  return std::make_unique<MessageWire>(std::move(messages), std::move(settings));
}

// A rank that calls serve has no request open. After the first exchange of texts, no request is left for the former
// services. After the second, every new service is open.
void MessageWire::serve(Service* service) {
  texts({}, TextRoute::kAllToAll);
  server_.close();
  if (service) server_.open(service);
  const std::vector<std::string> serving = texts(service ? "serves" : "", TextRoute::kAllToAll);
  serving_.assign(serving.size(), false);
  for (std::size_t peer = 0; peer < serving.size(); ++peer) serving_[peer] = !serving[peer].empty();
}

void MessageWire::request(std::span<const ServiceRequest> requests) {
  for (const ServiceRequest& each : requests)
    EAVE_CHECK(!serving_.empty() && serving_[static_cast<std::size_t>(each.owner)],
               "rank " + std::to_string(each.owner) + " answers no requests");
  requester_.carry_out(requests, backoff_);
}

std::optional<std::chrono::nanoseconds> MessageWire::poll_requests() {
  if (!server_.is_open()) return std::nullopt;
  messages_->pause({});
  if (!server_.poll_requests()) return pause_length();
  backoff_.reset();
  return std::chrono::nanoseconds(0);
}

void MessageWire::send(ConstBytes bytes, int to, Messages::Tag tag, Requests& requests) {
  if (!bytes.empty()) messages_->send(bytes, to, tag, requests);
}

void MessageWire::receive(Bytes bytes, int from, Messages::Tag tag, Requests& requests) {
  if (!bytes.empty()) messages_->receive(bytes, from, tag, requests);
}

void MessageWire::wait_for(Requests& requests) {
  if (!requests.empty()) backoff_.reset();
  while (!requests.empty()) wait_after(messages_->advance(requests));
}

void MessageWire::wait_after(bool moved) {
  if (server_.poll_requests() || moved) return backoff_.event();
  messages_->pause(pause_length());
}

// If messages end pauses, each of them would wake this thread. So on a slow link the first pause is a nap, in which
// several messages come. Returns whether it was a nap. If at most three segments are in flight, the link could be idle
// during a nap.
bool MessageWire::pause_for(std::size_t segments, bool may_nap) {
  const auto under_way = chunk_sizes_.link_is_slow && segments > 3 ? static_cast<std::int64_t>(segments - 2) : 1;
  if (messages_->ends_pauses() && under_way > 1 && may_nap) {
    messages_->pause({});  // messages that are held leave
    std::this_thread::sleep_for(backoff_.pace(under_way));
    messages_->pause({});
    return true;
  }
  messages_->pause(messages_->ends_pauses() ? kLongestWait : backoff_.delay(under_way));
  return false;
}

std::chrono::nanoseconds MessageWire::pause_length() const {
  return messages_->ends_pauses() ? kLongestWait : backoff_.delay();
}

}  // namespace eave
