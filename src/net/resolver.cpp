// SPDX-License-Identifier: Apache-2.0
#include "net/resolver.hpp"

#include <algorithm>

namespace weir::net {

using boost::asio::ip::tcp;

struct ResolvedName::Shared {
  explicit Shared(EventLoop& loop) : resolver(loop.io()) {}
  tcp::resolver resolver;
  std::vector<PeerAddress> addresses;
  std::vector<Waiter*> waiters;  // of the first look-up
  bool running = false;
};

ResolvedName::ResolvedName(EventLoop& loop, std::string host, std::uint16_t port)
    : loop_(loop), host_(std::move(host)), port_(port), shared_(std::make_shared<Shared>(loop)) {
  constexpr std::string_view kUnix = "unix:";
  if (host_.starts_with(kUnix)) {
    shared_->addresses.push_back({{}, 0, host_.substr(kUnix.size())});
    literal_ = true;
    return;
  }
  error_code not_a_literal;
  const auto literal = boost::asio::ip::make_address(host_, not_a_literal);
  if (not_a_literal) return;
  shared_->addresses.push_back({literal, port});
  literal_ = true;
}

ResolvedName::~ResolvedName() {
  shared_->resolver.cancel();
}

const PeerAddress* ResolvedName::next() {
  if (!literal_ && loop_.now_ms() >= due_ms_) look_up();
  const auto& addresses = shared_->addresses;
  if (addresses.empty()) return nullptr;
  return &addresses[turn_++ % addresses.size()];
}

std::size_t ResolvedName::count() const noexcept {
  return shared_->addresses.size();
}

void ResolvedName::look_up() {
  if (shared_->running) return;
  shared_->running = true;
  tried_ms_ = loop_.now_ms();
  due_ms_ = tried_ms_ + (shared_->addresses.empty() ? kRetryMs : kFreshMs);
  shared_->resolver.async_resolve(
      host_, std::to_string(port_), tcp::resolver::numeric_service,
      [shared = shared_](error_code failed, const tcp::resolver::results_type& found) {
        shared->running = false;
        if (!failed && !found.empty()) {
          shared->addresses.clear();
          for (const auto& entry : found) {
            shared->addresses.push_back({entry.endpoint().address(), entry.endpoint().port()});
          }
        }
        while (!shared->waiters.empty()) {
          Waiter* waiter = shared->waiters.back();
          shared->waiters.pop_back();
          waiter->wake(Wake::ready);
        }
      });
}

boost::asio::awaitable<void> ResolvedName::wait_for_first(std::int64_t deadline_ms) {
  const std::shared_ptr<Shared> shared = shared_;
  if (!shared->running) co_return;
  Waiter waiter(loop_.wheel());
  shared->waiters.push_back(&waiter);
  co_await waiter.wait(deadline_ms);
  std::erase(shared->waiters, &waiter);
}

}  // namespace weir::net
