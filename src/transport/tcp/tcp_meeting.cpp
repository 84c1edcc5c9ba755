#include "transport/tcp/tcp_meeting.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "transport/tcp/tcp_handshake.h"
#include "transport/tcp/tcp_messages.h"

namespace eave {
namespace {

constexpr int kMeetTag = 1;
constexpr std::chrono::milliseconds kBetweenTries{50}, kLookEvery{100};
constexpr std::chrono::seconds kTwinsTime{1};
constexpr std::chrono::seconds kGrace{10};  // for the rank that waits longest to say who is missing

// "rank 3", "ranks 1, 2 and 3 others".
std::string text_of_ranks(const std::vector<std::string>& ranks) {
  constexpr std::size_t kMostNamed = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t k = 0; k < std::min(ranks.size(), kMostNamed); ++k) text += (k ? ", " : "") + ranks[k];
  if (ranks.size() > kMostNamed) text += " and " + count_text(ranks.size() - kMostNamed, "other");
  return text;
}

std::string duration_of(std::chrono::milliseconds time) {
  return duration_text(static_cast<double>(time.count()) / 1000);
}

void warn(const std::string& text) { std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str()); }

// Behind the name stands a number of the machine. Empty: the rank has not told it so far.
std::string name_of_host(const std::string& host) {
  return host.empty() ? "an unknown host" : host.substr(0, host.find(' '));
}

// A rank's description of itself.
struct Entry {
  std::array<char, 64> address{};
  std::array<char, 128> host{};
};

class Meeting {
 public:
  explicit Meeting(const TcpMeeting& settings)
      : settings_(settings),
        deadline_(TcpClock::now() + settings.limit),
        remind_at_(TcpClock::now() + settings.reminder),
        links_(std::make_shared<TcpLinks>(settings.rank, settings.ranks)),
        messages_(links_),
        entries_(static_cast<std::size_t>(settings.ranks)) {}

  MetRanks run() {
    if (settings_.ranks == 1) return {links_, {0}, {name_of_host(settings_.host)}};
    settings_.rank == 0 ? receive_guests() : visit_first();
    set(entry_of(settings_.rank).host, settings_.host);
    exchange_entries();
    Secret words;
    std::memcpy(&words, salt_.data(), sizeof words);
    job_secret_ = hmac(settings_.secret, {bytes_of("job"), words});
    for (int peer = 1; peer < settings_.rank; ++peer) connect(peer);
    if (settings_.rank > 0) admit(listener_, job_secret_, settings_.rank + 1);
    return {links_, hosts(), names_of_hosts()};
  }

  // Ranks that have come end with the code of the one that fails, whose message says why.
  void tell_others(const Error& error) {
    if (const std::optional<ExitCode> told = links_->end_told()) throw AgreedError(*told, error.what());
    links_->tell_end(error.code());
  }

 private:
  Entry& entry_of(int rank) { return entries_[static_cast<std::size_t>(rank)]; }
  template <std::size_t kLength>
  static void set(std::array<char, kLength>& field, const std::string& text) {
    text.copy(field.data(), kLength - 1);
  }

  void receive_guests() {
    salt_ = random_secret();
    listener_ = settings_.listener >= 0 ? listen_on(settings_.listener) : listen_at(settings_.point);
    admit(listener_, settings_.secret, 1);
    listener_.close();
  }

  void visit_first() {
    links_->connect(0, reach(0, settings_.point, settings_.secret));
    listener_ = listen_at({own_host_, 0});
    set(entry_of(settings_.rank).address, text_of(address_of(listener_)));
  }

  void connect(int peer) {
    const TcpAddress address = parse_address(entry_of(peer).address.data(), "rank " + std::to_string(peer) + " is at");
    links_->connect(peer, reach(peer, address, job_secret_));
  }

  // Tries until it succeeds.
  TcpConnection reach(int peer, const TcpAddress& address, const Secret& secret) {
    TcpHello hello;
    hello.from = settings_.rank;
    hello.to = peer;
    hello.ranks = settings_.ranks;
    std::string why;
    for (; TcpClock::now() < deadline_; std::this_thread::sleep_for(kBetweenTries)) {
      if (peer == 0 && settings_.rank == 1 && is_time_to_remind()) warn(describe_unreachable(address, why));
      std::optional<Socket> socket = connect_to(address, deadline_, why);
      if (!socket) continue;
      own_host_ = address_of(*socket).host;
      hello.random = random_secret();
      const auto patience = std::min(deadline_, TcpClock::now() + std::chrono::seconds(10));
      if (auto connection = greet(std::move(*socket), hello, secret, patience)) return std::move(*connection);
      why = "it ended the connection, as a rank of another job or another program does";
    }
    throw Error(ExitCode::kPeerLost, "rank " + std::to_string(settings_.rank) + " has not reached rank " +
                                         std::to_string(peer) + " at " + text_of(address) + " within " + limit_text() +
                                         ": " + why);
  }

  // Until all ranks from `first` on are connected.
  void admit(const Socket& listener, const Secret& secret, int first) {
    Admission admission(listener, settings_.rank, secret);
    for (auto look_again = TcpClock::now(); !missing(first).empty();) {
      if (TcpClock::now() > deadline_) refuse_to_wait(first, admission.refused());
      if (std::optional<TcpConnection> guest = admission.admit(kLookEvery)) welcome(std::move(*guest), first);
      if (settings_.rank > 0 || TcpClock::now() < look_again) continue;
      look_again = TcpClock::now() + kLookEvery;
      hear_guests();
      if (is_time_to_remind() && !missing(first).empty()) warn(describe_wait(first, admission.refused()));
    }
  }

  void welcome(TcpConnection guest, int first) {
    const int from = guest.hello.from;
    const int ranks = guest.hello.ranks;
    const bool is_of_job = from >= first && from < settings_.ranks;
    const bool is_awaited = is_of_job && !links_->is_connected(from);
    if (is_awaited) links_->connect(from, std::move(guest));
    if (ranks != settings_.ranks)
      throw Error(ExitCode::kConfiguration, "rank " + std::to_string(from) + " belongs to a job of " +
                                                count_text(ranks, "rank") + ", rank " + std::to_string(settings_.rank) +
                                                " to one of " + count_text(settings_.ranks, "rank") +
                                                ": each job needs a meeting point of its own");
    if (settings_.rank > 0 || !is_of_job) return;
    if (!is_awaited) refuse_twin(std::move(guest));
    const std::lock_guard lock(messages_.mutex());
    messages_.receive(std::as_writable_bytes(std::span(&entry_of(from), 1)), from, kMeetTag, requests_);
  }

  [[noreturn]] void refuse_twin(TcpConnection twin) {
    hear_guests();  // if the first one has ended, that is the reason
    const int rank = twin.hello.from;
    Entry other;
    const auto links = std::make_shared<TcpLinks>(0, settings_.ranks);
    links->connect(rank, std::move(twin));
    await_entry(links, rank, other);
    links->tell_end(ExitCode::kConfiguration);
    throw Error(ExitCode::kConfiguration, "rank " + std::to_string(rank) + " has come twice, from " +
                                              name_of_host(entry_of(rank).host.data()) + " and from " +
                                              name_of_host(other.host.data()) +
                                              ": is RANK set anew on each host, or do two jobs use this port?");
  }

  // Waits for a moment only. The entry must outlive the links, which may still write to it.
  static void await_entry(const std::shared_ptr<TcpLinks>& links, int rank, Entry& entry) {
    TcpMessages messages(links);
    Messages::Requests requests;
    {
      const std::lock_guard lock(messages.mutex());
      messages.receive(std::as_writable_bytes(std::span(&entry, 1)), rank, kMeetTag, requests);
    }
    for (const auto end = TcpClock::now() + kTwinsTime; TcpClock::now() < end && !messages.advance(requests);) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      links->hear_last_words();
    }
  }

  // Rank 0 reads what those that have come say of themselves, and notices if one of them has ended.
  void hear_guests() {
    links_->hear_last_words();
    const std::optional<EndedRank> lost = links_->lost();
    if (!lost) return;
    if (lost->sent_changed)
      throw Error(ExitCode::kPeerLost, describe_changed("rank " + std::to_string(lost->rank) + host_of(lost->rank)));
    throw Error(ExitCode::kPeerLost, "rank " + std::to_string(lost->rank) + host_of(lost->rank) +
                                         " came to the meeting of the ranks, and ended before all had come: look at "
                                         "its messages");
  }

  std::string host_of(int rank) {
    const std::string host = entry_of(rank).host.data();
    return host.empty() ? "" : " (host " + name_of_host(host) + ")";
  }

  bool is_time_to_remind() {
    if (TcpClock::now() < remind_at_) return false;
    remind_at_ = TcpClock::time_point::max();
    return true;
  }

  // "rank 2 (host b)", and so on.
  std::string text_of_guests(int first) {
    std::vector<std::string> ranks;
    for (int rank = first; rank < settings_.ranks; ++rank)
      if (links_->is_connected(rank)) ranks.push_back(std::to_string(rank) + host_of(rank));
    return ranks.empty() ? "none of the others is there"
                         : text_of_ranks(ranks) + (ranks.size() == 1 ? " is" : " are") + " there";
  }

  std::string until_text() const {
    return "After " + duration_of(settings_.limit) + " (--meet-limit, EAVE_MEET_LIMIT) the job fails";
  }

  std::string describe_wait(int first, const Refusals& refused) {
    const std::vector<std::string> ranks = missing(first);
    return "rank 0 (host " + host_name() + ") has waited for " + duration_of(settings_.reminder) + " at " +
           point_text() + ": of " + count_text(settings_.ranks, "rank") + ", " + text_of_ranks(ranks) +
           (ranks.size() == 1 ? " has" : " have") + " not come; " + text_of_guests(first) + refused_text(refused) +
           ". Look whether they run, whether they have the same --meet (EAVE_MEET), and whether their hosts reach this "
           "address. " +
           until_text();
  }

  std::string describe_unreachable(const TcpAddress& address, const std::string& why) const {
    return "rank 1 (host " + host_name() + ") has tried for " + duration_of(settings_.reminder) +
           " to reach rank 0 at " + text_of(address) + ": " + why +
           ". Look whether rank 0 runs, and whether this is an address of its host that others reach. " + until_text();
  }

  std::string refused_text(const Refusals& refused) const {
    std::string text;
    if (refused.without_secret > 0)
      text += "; " + count_text(refused.without_secret, "connection") + " did not know the job's secret";
    if (refused.of_versions > 0)
      text += "; " + count_text(refused.of_versions, "connection") + " came from another version of eave (protocol " +
              std::to_string(refused.version) + ", here " + std::to_string(TcpHello{}.version) +
              "): install the same eave on all hosts";
    if (refused.of_others > 0) text += "; " + count_text(refused.of_others, "connection") + " of other programs came";
    return text;
  }

  // The meeting point, and the address that it stands for if it is a name.
  std::string point_text() const {
    const std::string named = text_of(settings_.point), real = text_of(address_of(listener_));
    return named == real ? named : named + ", which is " + real + " here";
  }

  std::vector<std::string> missing(int first) {
    std::vector<std::string> ranks;
    for (int rank = first; rank < settings_.ranks; ++rank)
      if (!links_->is_connected(rank)) ranks.push_back(std::to_string(rank));
    return ranks;
  }

  [[noreturn]] void refuse_to_wait(int first, const Refusals& refused) {
    const std::vector<std::string> ranks = missing(first);
    throw Error(ExitCode::kPeerLost, text_of_ranks(ranks) + (ranks.size() == 1 ? " has" : " have") +
                                         " not come to rank " + std::to_string(settings_.rank) + " at " +
                                         (settings_.rank == 0 ? point_text() : text_of(settings_.point)) + " within " +
                                         limit_text() + refused_text(refused) +
                                         ": look whether they run, and whether their hosts reach this one");
  }

  std::string limit_text() const { return duration_of(settings_.limit); }

  // Rank 0 hears all others, then tells them all that it has heard.
  void exchange_entries() {
    const bool is_first = settings_.rank == 0;
    const auto entries = std::as_writable_bytes(std::span(entries_));
    const auto bytes = [&](int rank) { return std::as_writable_bytes(std::span(&entry_of(rank), 1)); };
    const auto others = [&](const auto& act) {
      carry_out([&] {
        for (int rank = 1; rank < settings_.ranks && is_first; ++rank) act(rank);
      });
    };
    Messages::Requests& requests = requests_;
    if (is_first) carry_out([] {});  // welcome() has begun to receive their entries
    others([&](int rank) { messages_.send(std::as_bytes(std::span(salt_)), rank, kMeetTag, requests); });
    others([&](int rank) { messages_.send(entries, rank, kMeetTag, requests); });
    if (is_first) return;
    carry_out([&] { messages_.send(bytes(settings_.rank), 0, kMeetTag, requests); });
    carry_out([&] { messages_.receive(std::as_writable_bytes(std::span(salt_)), 0, kMeetTag, requests); });
    carry_out([&] { messages_.receive(entries, 0, kMeetTag, requests); });
  }

  void carry_out(const auto& start) {
    {
      const std::lock_guard lock(messages_.mutex());
      start();
    }
    while (!requests_.empty()) {
      if (messages_.advance(requests_)) continue;
      if (TcpClock::now() > deadline_ + kGrace)
        throw Error(ExitCode::kPeerLost, "rank " + std::to_string(settings_.rank) +
                                             " is connected with the others at " + text_of(settings_.point) +
                                             ", but they have sent nothing within " + limit_text());
      messages_.pause(kLookEvery);
    }
  }

  std::vector<int> hosts() const {
    std::vector<int> hosts;
    for (const Entry& entry : entries_) {
      const auto same = [&](const Entry& other) { return other.host == entry.host; };
      hosts.push_back(static_cast<int>(std::ranges::find_if(entries_, same) - entries_.begin()));
    }
    return hosts;
  }

  std::vector<std::string> names_of_hosts() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(name_of_host(entry.host.data()));
    return names;
  }

  const TcpMeeting settings_;
  const TcpClock::time_point deadline_;
  TcpClock::time_point remind_at_;
  const std::shared_ptr<TcpLinks> links_;
  TcpMessages messages_;
  Messages::Requests requests_;
  std::vector<Entry> entries_;
  Secret salt_{}, job_secret_{};
  Socket listener_;
  std::string own_host_;  // the address from which this rank reached the last one
};

}  // namespace

MetRanks meet(const TcpMeeting& settings) {
  if (settings.ranks > 1) raise_limit_of_files();
  Meeting meeting(settings);
  try {
    return meeting.run();
  } catch (const Error& error) {
    meeting.tell_others(error);
    throw;
  }
}

}  // namespace eave
