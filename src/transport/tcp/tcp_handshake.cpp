#include "transport/tcp/tcp_handshake.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "eave/check.h"

namespace eave {
namespace {

constexpr std::chrono::seconds kGuestsTime{3};
constexpr std::size_t kMostGuests = 256;

std::span<const std::byte> raw(const TcpHello& hello) { return std::as_bytes(std::span(&hello, 1)); }

Secret proof_of(const Secret& secret, std::string_view side, const TcpHello& hello, const Secret& random) {
  return hmac(secret, {bytes_of(side), raw(hello), random});
}

TcpConnection connection(Socket socket, const Secret& secret, const TcpHello& hello, const Secret& random,
                         bool is_client) {
  const Secret both = proof_of(secret, "keys", hello, random);
  TcpConnection made{std::move(socket), {}, {}, hello};
  std::copy_n(both.begin(), made.sends.size(), (is_client ? made.sends : made.receives).begin());
  std::copy_n(both.begin() + made.sends.size(), made.sends.size(), (is_client ? made.receives : made.sends).begin());
  return made;
}

// So few bytes always fit into the buffer of a new connection.
bool send_all(const Socket& socket, std::span<const std::byte> bytes) {
  return ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
}

bool receive_all(const Socket& socket, std::span<std::byte> bytes, TcpClock::time_point deadline) {
  while (!bytes.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - TcpClock::now()).count();
    pollfd wanted{socket.descriptor(), POLLIN, 0};
    if (left <= 0 || ::poll(&wanted, 1, static_cast<int>(left)) == 0) return false;
    const auto got = ::recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

std::optional<TcpConnection> greet(Socket socket, const TcpHello& hello, const Secret& secret,
                                   TcpClock::time_point deadline) {
  struct Answer {
    Secret random, proof;
  } answer;
  if (!send_all(socket, raw(hello))) return std::nullopt;
  if (!receive_all(socket, std::as_writable_bytes(std::span(&answer, 1)), deadline)) return std::nullopt;
  if (!equal_in_constant_time(answer.proof, proof_of(secret, "server", hello, answer.random)))
    throw Error(ExitCode::kConfiguration, "rank " + std::to_string(hello.to) + " and rank " +
                                              std::to_string(hello.from) +
                                              " have different secrets: give all ranks the same EAVE_MEET_SECRET, or "
                                              "none, and each job a port of its own");
  if (!send_all(socket, proof_of(secret, "client", hello, answer.random))) return std::nullopt;
  return connection(std::move(socket), secret, hello, answer.random, true);
}

std::optional<TcpConnection> Admission::admit(std::chrono::milliseconds at_most) {
  let_in();
  std::vector<pollfd> wanted = {{listener_.descriptor(), POLLIN, 0}};
  for (const Guest& guest : guests_) wanted.push_back({guest.socket.descriptor(), POLLIN, 0});
  ::poll(wanted.data(), wanted.size(), static_cast<int>(at_most.count()));
  let_in();
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const Verdict verdict = hear(*guest);
    if (verdict == Verdict::kIsAdmitted) {
      TcpConnection made = connection(std::move(guest->socket), secret_, hello_of(*guest), guest->random, false);
      guests_.erase(guest);
      return made;
    }
    if (verdict == Verdict::kIsGone) count_refused(*guest);
    guest = verdict == Verdict::kIsGone ? guests_.erase(guest) : std::next(guest);
  }
  return std::nullopt;
}

// If there are too many guests, others wait in the kernel's queue until some have had their time.
void Admission::let_in() {
  while (guests_.size() < kMostGuests) {
    std::optional<Socket> socket = accept_from(listener_);
    if (!socket) return;
    guests_.emplace_back().socket = std::move(*socket);
    guests_.back().deadline = TcpClock::now() + kGuestsTime;
  }
}

TcpHello Admission::hello_of(const Guest& guest) const {
  TcpHello hello;
  std::memcpy(&hello, guest.come.data(), sizeof hello);
  return hello;
}

Admission::Verdict Admission::hear(Guest& guest) {
  const std::size_t wanted = guest.is_answered ? guest.come.size() : sizeof(TcpHello);
  const auto got = ::recv(guest.socket.descriptor(), guest.come.data() + guest.got, wanted - guest.got, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return Verdict::kIsGone;
  guest.got += got > 0 ? static_cast<std::size_t>(got) : 0;
  // If the first bytes are not those of a hello, there is no need to wait for the rest.
  if (!is_hello(guest) || !is_of_this_version(guest)) return Verdict::kIsGone;
  if (guest.got == wanted && !guest.is_answered) return answer(guest) ? Verdict::kWaits : Verdict::kIsGone;
  if (guest.got == wanted) {
    const auto proof = std::span(guest.come).subspan(sizeof(TcpHello));
    const Secret right = proof_of(secret_, "client", hello_of(guest), guest.random);
    return equal_in_constant_time(proof, right) ? Verdict::kIsAdmitted : Verdict::kIsGone;
  }
  return TcpClock::now() > guest.deadline ? Verdict::kIsGone : Verdict::kWaits;
}

bool Admission::is_hello(const Guest& guest) const {
  const TcpHello mine;
  return std::memcmp(guest.come.data(), mine.magic.data(), std::min(guest.got, mine.magic.size())) == 0;
}

bool Admission::is_of_this_version(const Guest& guest) const {
  return guest.got < offsetof(TcpHello, view) || hello_of(guest).version == TcpHello{}.version;
}

void Admission::count_refused(const Guest& guest) {
  if (guest.is_answered) {
    ++refused_.without_secret;
  } else if (is_hello(guest) && !is_of_this_version(guest)) {
    ++refused_.of_versions;
    refused_.version = hello_of(guest).version;
  } else {
    ++refused_.of_others;
  }
}

bool Admission::answer(Guest& guest) {
  const TcpHello hello = hello_of(guest), mine;
  if (hello.view != mine.view || hello.to != rank_) return false;
  guest.is_answered = true;
  guest.random = random_secret();
  std::array<Secret, 2> answer = {guest.random, proof_of(secret_, "server", hello, guest.random)};
  return send_all(guest.socket, std::as_bytes(std::span(answer)));
}

}  // namespace eave
