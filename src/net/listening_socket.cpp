// SPDX-License-Identifier: Apache-2.0
#include "net/listening_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>

#include "net/tls_stream.hpp"

namespace weir::net {
namespace {

constexpr int kBacklog = 4096;

using boost::asio::ip::tcp;

error_code last_error() noexcept {
  return {errno, boost::system::system_category()};
}

void set_flag(int descriptor, int level, int name) noexcept {
  const int on = 1;
  ::setsockopt(descriptor, level, name, &on, sizeof on);
}

// Closes the descriptor unless it was released.
class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return value_; }
  int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

bool is_transient(int error) noexcept {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

}  // namespace

ListeningSocket::ListeningSocket(EventLoop& loop, int descriptor, std::uint16_t port,
                                 Receiver receiver) noexcept
    : loop_(loop), descriptor_(descriptor), port_(port), receiver_(receiver) {}

ListeningSocket::~ListeningSocket() {
  loop_.poller().remove(descriptor_, *this);
  ::close(descriptor_);
}

Result<std::unique_ptr<ListeningSocket>> ListeningSocket::open(EventLoop& loop, const std::string& address,
                                                               std::uint16_t port, Receiver receiver) {
  error_code failed;
  const auto literal = boost::asio::ip::make_address(address, failed);
  if (failed) return failed;
  tcp::endpoint endpoint(literal, port);
  Descriptor descriptor(
      ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (descriptor.get() < 0) return last_error();
  set_flag(descriptor.get(), SOL_SOCKET, SO_REUSEADDR);
  set_flag(descriptor.get(), SOL_SOCKET, SO_REUSEPORT);
  if (literal.is_v6()) set_flag(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  if (::bind(descriptor.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0)
    return last_error();
  if (::listen(descriptor.get(), kBacklog) != 0) return last_error();
  return adopt(loop, descriptor.release(), receiver);
}

Result<std::unique_ptr<ListeningSocket>> ListeningSocket::adopt(EventLoop& loop, int listening,
                                                                Receiver receiver) {
  Descriptor descriptor(listening);
  tcp::endpoint endpoint;
  socklen_t size = static_cast<socklen_t>(endpoint.capacity());
  if (::getsockname(descriptor.get(), endpoint.data(), &size) != 0) return last_error();
  endpoint.resize(size);

  std::unique_ptr<ListeningSocket> socket(
      new ListeningSocket(loop, descriptor.release(), endpoint.port(), receiver));
  const auto added = loop.poller().add(socket->descriptor_, *socket);
  if (!added) return added.error();
  return socket;
}

Result<int> ListeningSocket::accept(PeerAddress& peer) noexcept {
  tcp::endpoint endpoint;
  for (;;) {
    socklen_t size = static_cast<socklen_t>(endpoint.capacity());
    const int descriptor = ::accept4(descriptor_, endpoint.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0 && is_transient(errno)) continue;
    if (descriptor < 0) return last_error();
    endpoint.resize(size);
    set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
    peer = {endpoint.address(), endpoint.port()};
    return descriptor;
  }
}

namespace {

struct Connecting {
  int descriptor = -1;  // the caller's
  bool connected = false;
};

// The path was measured when the configuration was read.
Result<Connecting> connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (descriptor.get() < 0) return last_error();
  if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return last_error();
  }
  return Connecting{descriptor.release(), true};
}

Result<Connecting> connect_socket(const PeerAddress& to) {
  if (!to.unix_path.empty()) return connect_unix(to.unix_path);
  const tcp::endpoint endpoint(to.address, to.port);
  Descriptor descriptor(
      ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (descriptor.get() < 0) return last_error();
  set_flag(descriptor.get(), IPPROTO_TCP, TCP_NODELAY);
  const int failed = ::connect(descriptor.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size()));
  if (failed != 0 && errno != EINPROGRESS) return last_error();
  return Connecting{descriptor.release(), failed == 0};
}

}  // namespace

Result<std::unique_ptr<Stream>> begin_connect(EventLoop& loop, const PeerAddress& to) {
  WEIR_TRY(const Connecting socket, connect_socket(to));
  return std::make_unique<Stream>(loop, socket.descriptor, socket.connected);
}

Result<std::unique_ptr<TlsStream>> begin_connect(EventLoop& loop, const PeerAddress& to,
                                                 TlsStream::Client client) {
  WEIR_TRY(const Connecting socket, connect_socket(to));
  return std::make_unique<TlsStream>(loop, socket.descriptor, socket.connected, std::move(client));
}

}  // namespace weir::net
