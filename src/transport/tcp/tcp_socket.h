// Sockets of TCP: an owned descriptor, and how connections are made and accepted.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace eave {

using TcpClock = std::chrono::steady_clock;

// A non-blocking socket, which is closed with its owner. A forked child of this process has /dev/null in its place.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor);
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  int release();  // the caller closes it
  void close() { Socket().swap(*this); }
  void swap(Socket& other) noexcept { std::swap(descriptor_, other.descriptor_); }

 private:
  int descriptor_ = -1;
};

struct TcpAddress {
  std::string host;  // a name or a number
  int port = 0;
};

// "HOST:PORT", "[::1]:PORT"; an IPv6 address needs the brackets. Throws Error(kUsage); `source` says where the text
// comes from, such as "--meet".
TcpAddress parse_address(const std::string& text, const std::string& source);
std::string text_of(const TcpAddress& address);

// Listens on one address only. Port 0: a free one. Throws Error(kUsage) if the address is not one of this host, or is
// in use, or stands for all addresses of the host (0.0.0.0, ::).
Socket listen_at(const TcpAddress& address);
// Takes over a socket that the caller has bound, and listens on it.
Socket listen_on(int descriptor);
// The address to which a socket is bound.
TcpAddress address_of(const Socket& socket);

// Raises this process's soft limit of open files up to its hard one, which every process may do, but to no more than
// 65536: a forked child closes only sockets below that number, and some programs go through all numbers.
void raise_limit_of_files();
// Throws Error(kResource). `what` was to be opened; `error` is that of errno.
[[noreturn]] void fail_to_open(const std::string& what, int error);

// nullopt: no connection is waiting, or this one has failed, or memory is short for now. Throws Error(kResource) if
// this process can open none.
std::optional<Socket> accept_from(const Socket& listener);
// One attempt. nullopt: it failed, for the reason that `why` then has. Throws Error(kResource) if this process can open
// no connection.
std::optional<Socket> connect_to(const TcpAddress& address, TcpClock::time_point deadline, std::string& why);

}  // namespace eave
