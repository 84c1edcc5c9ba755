#include "transport/tcp/tcp_socket.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <thread>

#include "eave/check.h"

namespace eave {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Which descriptors are sockets of this process. Those that do not fit in stay open in forked children.
std::array<std::atomic<bool>, 65536> is_socket{};

// A forked child, such as a worker of a data loader, has copies of all descriptors. Until it ended, the other ranks
// would not see that this process has. The numbers stay in use: the child may close them.
void leave_sockets_to_parent() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (std::size_t descriptor = 0; descriptor < is_socket.size() && nothing >= 0; ++descriptor) {
    if (!is_socket[descriptor]) continue;
    ::dup3(nothing, static_cast<int>(descriptor), O_CLOEXEC);
    is_socket[descriptor] = false;  // the child may use the number for another file, and fork too
  }
  if (nothing >= 0) ::close(nothing);
}

void note(int descriptor, bool is_open) {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, leave_sockets_to_parent);
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < is_socket.size())
    is_socket[static_cast<std::size_t>(descriptor)] = is_open;
}

tcp::resolver::results_type resolve(boost::asio::io_context& context, const TcpAddress& address, error_code& error) {
  tcp::resolver resolver(context);
  return resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::numeric_service, error);
}

// Each message leaves at once. If the other host vanishes, an idle connection ends 10 minutes later (as long as
// --limit-step, so that shorter outages of the network end nothing), not after two hours: some waits have no other
// limit. The kernel of a host answers for ranks that compute or are stopped. TCP_USER_TIMEOUT
// would also end connections to stopped ranks, once their buffers are full.
void set_options(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 30);
  set(IPPROTO_TCP, TCP_KEEPCNT, 18);
}

// The connection is never a child process's.
Socket take_over(tcp::socket socket) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  const int descriptor = socket.release(ignored);
  set_options(descriptor);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return Socket(descriptor);
}

// A rank listens only where the job's ranks reach it.
void refuse_all_addresses(const tcp::endpoint& endpoint) {
  if (!endpoint.address().is_unspecified()) return;
  throw Error(ExitCode::kUsage, "rank 0 does not listen at " + endpoint.address().to_string() +
                                    ", which means all addresses of its host: give the one at which the other ranks "
                                    "reach it");
}

tcp::endpoint endpoint_of(const Socket& socket) {
  tcp::endpoint endpoint;
  auto length = static_cast<socklen_t>(endpoint.capacity());
  if (getsockname(socket.descriptor(), endpoint.data(), &length) != 0)
    throw Error(ExitCode::kResource, "getsockname failed for a socket of the job");
  endpoint.resize(length);
  return endpoint;
}

TcpAddress address_of_endpoint(const tcp::endpoint& endpoint) {
  return {endpoint.address().to_string(), endpoint.port()};
}

// Then trying again is in vain. A process may wait for memory.
bool is_shortage_of_files(int error) { return error == EMFILE || error == ENFILE; }

// Whether every later accept(2) would fail too. Other errors are those of one connection, say that there is none, or
// pass.
bool is_listener_at_fault(int error) {
  return error == EBADF || error == EINVAL || error == ENOTSOCK || error == EOPNOTSUPP || error == ENOSYS;
}

}  // namespace

void fail_to_open(const std::string& what, int error) {
  std::string text = "cannot open " + what + ": " + std::generic_category().message(error);
  rlimit limit{};
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    text += "; this process may open " + std::to_string(limit.rlim_cur) +
            " files, and a rank needs one for each other rank: have the hard limit raised (`ulimit -Hn`, limits.conf, "
            "`LimitNOFILE=`)";
  if (error == ENFILE) text += "; the whole host has no more (fs.file-max)";
  throw Error(ExitCode::kResource, text);
}

void raise_limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::min<rlim_t>(limit.rlim_max, is_socket.size());
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Socket::Socket(int descriptor) : descriptor_(descriptor) { note(descriptor, true); }

Socket::~Socket() {
  if (descriptor_ < 0) return;
  note(descriptor_, false);
  ::close(descriptor_);
}

int Socket::release() {
  note(descriptor_, false);
  return std::exchange(descriptor_, -1);
}

TcpAddress parse_address(const std::string& text, const std::string& source) {
  const std::size_t colon = text.rfind(':');
  TcpAddress address;
  if (colon != std::string::npos) {
    address.host = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
      address.host = address.host.substr(1, address.host.size() - 2);
    else if (address.host.find(':') != std::string::npos)
      throw Error(ExitCode::kUsage, source + " " + text + ": write an IPv6 address in brackets, such as [::1]:29400");
    if (error == std::errc{} && last == end && !address.host.empty() && address.port > 0 && address.port < 65536)
      return address;
  }
  throw Error(ExitCode::kUsage, source + " " + text +
                                    ": give a host and a port from 1 to 65535 at which rank 0 is reached, such as "
                                    "node1:29400");
}

std::string text_of(const TcpAddress& address) {
  const bool has_colons = address.host.find(':') != std::string::npos;
  return (has_colons ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Socket listen_at(const TcpAddress& address) try {
  boost::asio::io_context context;
  error_code error;
  for (const auto& each : resolve(context, address, error)) {
    refuse_all_addresses(each.endpoint());
    tcp::acceptor acceptor(context);
    acceptor.open(each.endpoint().protocol(), error);
    if (!error) acceptor.set_option(boost::asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(each.endpoint(), error);
    if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) continue;
    const int descriptor = acceptor.release(error);
    Socket listener = listen_on(descriptor);
    return listener;
  }
  if (is_shortage_of_files(error.value())) fail_to_open("a socket at " + text_of(address), error.value());
  throw Error(ExitCode::kUsage, "rank 0 cannot listen at " + text_of(address) + ": " + error.message() +
                                    "; give an address of rank 0's own host, and a port that is free there");
} catch (const boost::system::system_error& error) {  // the context has descriptors of its own
  fail_to_open("a socket at " + text_of(address), error.code().value());
}

Socket listen_on(int descriptor) {
  Socket listener(descriptor);
  if (::listen(descriptor, SOMAXCONN) != 0)
    throw Error(ExitCode::kUsage, "descriptor " + std::to_string(descriptor) + " is no socket that can listen");
  refuse_all_addresses(endpoint_of(listener));
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return listener;
}

TcpAddress address_of(const Socket& socket) { return address_of_endpoint(endpoint_of(socket)); }

std::optional<Socket> accept_from(const Socket& listener) {
  const int descriptor = ::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) {
    if (is_shortage_of_files(errno) || is_listener_at_fault(errno)) fail_to_open("a connection of another rank", errno);
    const bool takes_one = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    // Otherwise the listener may stay ready, and the caller would try again at once.
    if (!takes_one) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::nullopt;
  }
  set_options(descriptor);
  return Socket(descriptor);
}

std::optional<Socket> connect_to(const TcpAddress& address, TcpClock::time_point deadline, std::string& why) try {
  boost::asio::io_context context;
  error_code error;
  const auto found = resolve(context, address, error);
  tcp::socket socket(context);
  if (!error) {
    error = boost::asio::error::timed_out;
    boost::asio::async_connect(socket, found, [&](const error_code& result, const tcp::endpoint&) { error = result; });
    context.run_until(deadline);
  }
  if (!error) return take_over(std::move(socket));
  if (is_shortage_of_files(error.value())) fail_to_open("a connection to " + text_of(address), error.value());
  why = error.message();
  return std::nullopt;
} catch (const boost::system::system_error& error) {  // the context has descriptors of its own
  fail_to_open("a connection to " + text_of(address), error.code().value());
}

}  // namespace eave
