// How two ranks that have connected prove to each other that they know the job's secret.
//
//   client → server   hello: magic, version, view, from which rank to which, number of ranks, random number
//   server → client   random number, proof = HMAC(secret, "server", hello, random number)
//   client → server   proof = HMAC(secret, "client", hello, random number)
//
// A connection that says anything else, or too late, is closed without an answer. Every version begins with the magic
// and its number. HMAC(secret, "keys", …) of the same numbers gives the keys of both directions (tcp_mac.h).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "transport/tcp/tcp_mac.h"
#include "transport/tcp/tcp_socket.h"

namespace eave {

struct TcpHello {
  std::array<char, 8> magic = {'e', 'a', 'v', 'e', '-', 't', 'c', 'p'};
  std::uint32_t version = 2, view = 0;
  std::int32_t from = 0, to = 0, ranks = 0, unused = 0;
  Secret random{};
};

struct TcpConnection {
  Socket socket;
  MacKey sends{}, receives{};
  TcpHello hello;
};

// The client's side. nullopt: the server closed the connection, or has not answered in time. Throws
// Error(kConfiguration) if the server has another secret.
std::optional<TcpConnection> greet(Socket socket, const TcpHello& hello, const Secret& secret,
                                   TcpClock::time_point deadline);

// How many connections were closed.
struct Refusals {
  int without_secret = 0;
  int of_others = 0;    // they said nothing that a rank of the job says
  int of_versions = 0;  // they spoke another version of the protocol, the last one `version`
  std::uint32_t version = 0;
};

// The server's side, for several connections at once. So one that stays silent delays no other.
class Admission {
 public:
  // The listener is not owned.
  Admission(const Socket& listener, int rank, const Secret& secret)
      : listener_(listener), rank_(rank), secret_(secret) {}
  // Waits for at most this long. nullopt: nobody has proved to know the secret so far.
  std::optional<TcpConnection> admit(std::chrono::milliseconds at_most);
  const Refusals& refused() const { return refused_; }

 private:
  struct Guest {
    Socket socket;
    TcpClock::time_point deadline;
    std::array<std::byte, sizeof(TcpHello) + sizeof(Secret)> come{};  // the hello, then the proof
    std::size_t got = 0;
    Secret random{};  // ours, sent once the hello is there
    bool is_answered = false;
  };
  enum class Verdict { kWaits, kIsGone, kIsAdmitted };

  void let_in();
  Verdict hear(Guest& guest);
  // As far as its bytes have come.
  bool is_hello(const Guest& guest) const;
  bool is_of_this_version(const Guest& guest) const;
  void count_refused(const Guest& guest);
  bool answer(Guest& guest);
  TcpHello hello_of(const Guest& guest) const;

  const Socket& listener_;
  const int rank_;
  const Secret secret_;
  std::list<Guest> guests_;
  Refusals refused_;
};

}  // namespace eave
