// SPDX-License-Identifier: Apache-2.0
#include "http/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/own_count.hpp"
#include "http/connection.hpp"

namespace weir::http {
namespace {

constexpr std::int64_t kRetryMs = 50;  // how soon a paused worker tries to accept again
constexpr std::size_t kShedAtOnce = 64;
constexpr std::int64_t kLeastIdleMs = 1000;  // a connection that idles for less is not closed to make room

}  // namespace

std::string_view proxy_fault_name(ProxyFault fault) noexcept {
  constexpr std::array<std::string_view, kProxyFaults> names = {"untrusted", "malformed", "timeout"};
  return names[static_cast<std::size_t>(fault)];
}

Server::Server(net::EventLoop& loop, Handler& handler, std::shared_ptr<ConnectionBudget> budget,
               std::shared_ptr<const ServerOptions> options)
    : loop_(loop),
      handler_(handler),
      budget_(std::move(budget)),
      options_(std::move(options)),
      exchanges_(loop),
      retry_(loop.wheel(), [](void* self) { static_cast<Server*>(self)->resume_accepting(); }, this) {}

Server::~Server() {
  stop();
}

net::ListeningSocket::Receiver Server::receiver() noexcept {
  return {[](void* self, net::ListeningSocket& socket) { static_cast<Server*>(self)->accept_from(socket); },
          this};
}

Result<std::uint16_t> Server::listen(const std::string& address, std::uint16_t port) {
  WEIR_TRY(auto socket, net::ListeningSocket::open(loop_, address, port, receiver()));
  return keep(std::move(socket), address, port);
}

Result<std::uint16_t> Server::listen_on(int descriptor, const std::string& address, std::uint16_t port) {
  WEIR_TRY(auto socket, net::ListeningSocket::adopt(loop_, descriptor, receiver()));
  return keep(std::move(socket), address, port);
}

Result<std::uint16_t> Server::keep(std::unique_ptr<net::ListeningSocket> socket, const std::string& address,
                                   std::uint16_t port) {
  sockets_.push_back({std::move(socket), address, port});
  return sockets_.back().socket->port();
}

const ListenerOptions* Server::options_of(const net::ListeningSocket& socket) const noexcept {
  const auto asked =
      std::ranges::find_if(sockets_, [&socket](const Listening& one) { return one.socket.get() == &socket; });
  if (asked == sockets_.end()) return nullptr;
  const auto found = std::ranges::find_if(options_->listeners, [&asked](const ListenerOptions& one) {
    return one.port == asked->port && one.host == asked->address;
  });
  return found == options_->listeners.end() ? nullptr : &*found;
}

void Server::set_options(std::shared_ptr<const ServerOptions> options) {
  options_ = std::move(options);
}

void Server::accept_from(net::ListeningSocket& socket) {
  const ListenerOptions* const listener = options_of(socket);
  while (!paused_) {
    // At the cap clients wait in the kernel's queue rather than being turned away.
    const bool full = budget_->open() >= static_cast<std::int64_t>(options_->connections);
    if (full && !shed_idle()) return pause_accepting();
    net::PeerAddress peer;
    const auto descriptor = socket.accept(peer);
    if (!descriptor && net::would_block(descriptor.error())) return;
    if (!descriptor) return pause_accepting();  // out of descriptors or memory
    adopt(*descriptor, peer, listener);
  }
}

void Server::adopt(int descriptor, const net::PeerAddress& peer, const ListenerOptions* listener) {
  const bool of_balancer =
      listener != nullptr && listener->preamble == ListenerOptions::Preamble::proxy_protocol;
  if (of_balancer && (!options_->trusts_proxy || !options_->trusts_proxy(peer.address))) {
    add_own(stats_.proxy_faults[static_cast<std::size_t>(ProxyFault::untrusted)]);
    ::close(descriptor);
    return;
  }
  // A balancer's connections are counted for the clients it names.
  const std::size_t per_address = of_balancer ? 0 : options_->connections_per_address;
  const auto verdict = budget_->take(peer.address, options_->connections, per_address);
  if (verdict != ConnectionBudget::Verdict::granted) {
    stats_.rejected.fetch_add(1, std::memory_order_relaxed);
    ::close(descriptor);
    return;
  }
  stats_.accepted.fetch_add(1, std::memory_order_relaxed);
  stats_.open_connections.fetch_add(1, std::memory_order_relaxed);
  auto connection = std::make_unique<Connection>(*this, descriptor, peer, listener);
  connection->next_ = first_;
  if (first_ != nullptr) first_->slot_ = &connection->next_;
  connection->slot_ = &first_;
  first_ = connection.get();
  boost::asio::co_spawn(loop_.io(), Connection::run(std::move(connection)), boost::asio::detached);
}

void Server::forget(Connection& connection) noexcept {
  if (connection.slot_ != nullptr) {
    *connection.slot_ = connection.next_;
    if (connection.next_ != nullptr) connection.next_->slot_ = connection.slot_;
  }
  budget_->give_back(connection.peer_.address);
  stats_.open_connections.fetch_sub(1, std::memory_order_relaxed);
}

// Those that idle the longest make room for clients that have something to ask. False: there are none.
bool Server::shed_idle() noexcept {
  const std::int64_t latest = loop_.now_ms() - kLeastIdleMs;
  const auto idles_longer = [](const Connection* a, const Connection* b) {
    return a->since_ms() < b->since_ms();
  };
  std::array<Connection*, kShedAtOnce> longest;  // a heap, the one that idles least on top
  std::size_t count = 0;
  for (Connection* one = first_; one != nullptr; one = one->next_) {
    if (!one->rests() || one->since_ms() > latest) continue;
    if (count == kShedAtOnce) {
      if (!idles_longer(one, longest[0])) continue;
      std::pop_heap(longest.begin(), longest.end(), idles_longer);
      --count;
    }
    longest[count++] = one;
    std::push_heap(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(count), idles_longer);
  }
  add_own(stats_.shed, count);
  for (std::size_t n = 0; n < count; ++n) longest[n]->kill();
  return count > 0;
}

void Server::pause_accepting() noexcept {
  paused_ = true;
  stats_.pauses.fetch_add(1, std::memory_order_relaxed);
  retry_.arm(loop_.now_ms() + kRetryMs);
}

void Server::resume_accepting() {
  paused_ = false;
  for (const auto& listening : sockets_) accept_from(*listening.socket);
}

void Server::drain() {
  if (draining_) return;
  resume_accepting();  // what the kernel accepted for us would be reset otherwise
  sockets_.clear();
  retry_.disarm();
  draining_ = true;
  drains_since_ms_ = loop_.now_ms();
  for (Connection* connection = first_; connection != nullptr;) {
    Connection* next = connection->next_;
    connection->look_again();
    connection = next;
  }
}

void Server::stop() noexcept {
  sockets_.clear();
  retry_.disarm();
  draining_ = true;
  std::vector<Connection*> connections;
  for (Connection* connection = first_; connection != nullptr; connection = connection->next_) {
    connections.push_back(connection);
  }
  for (Connection* connection : connections) connection->kill();
}

}  // namespace weir::http
