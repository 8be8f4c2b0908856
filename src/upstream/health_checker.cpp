// SPDX-License-Identifier: Apache-2.0
#include "upstream/health_checker.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/hash.hpp"
#include "http/response_parser.hpp"
#include "net/resolver.hpp"
#include "net/tls_stream.hpp"

namespace weir::upstream {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

namespace {

constexpr std::size_t kMostHeadBytes = 64 * 1024;

}  // namespace

struct HealthChecker::Check {
  Check(net::EventLoop& loop_, std::shared_ptr<SharedCluster> cluster_, const EndpointOptions& options_)
      : loop(loop_),
        cluster(std::move(cluster_)),
        options(options_),
        endpoint(cluster->endpoint(options_)),
        addresses(loop_, options_.host, options_.port),
        pause(loop_.wheel()) {}

  void end() {
    ended = true;
    if (wire != nullptr) wire->cancel();
    pause.wake(Wake::canceled);
  }
  // Between nine and eleven tenths of the interval.
  std::int64_t next_ms(std::int64_t interval_ms) noexcept {
    chance = stable_hash(endpoint->name, chance + 1);
    return interval_ms - interval_ms / 10 + static_cast<std::int64_t>(chance >> 1) % (interval_ms / 5 + 1);
  }

  net::EventLoop& loop;
  std::shared_ptr<SharedCluster> cluster;
  EndpointOptions options;
  std::shared_ptr<SharedEndpoint> endpoint;
  net::ResolvedName addresses;
  net::Waiter pause;
  net::Stream* wire = nullptr;
  std::uint64_t chance = process_seed();
  bool ended = false;
};

HealthChecker::HealthChecker(net::EventLoop& loop, std::shared_ptr<SharedClusters> clusters)
    : loop_(loop),
      clusters_(std::move(clusters)),
      tick_timer_(loop.wheel(), [](void* self) { static_cast<HealthChecker*>(self)->tick(); }, this) {
  tick_timer_.arm(loop_.now_ms() + kTickMs);
}

HealthChecker::~HealthChecker() = default;

void HealthChecker::update() {
  std::vector<std::shared_ptr<Check>> next;
  for (const auto& cluster : clusters_->all()) {
    const ClusterOptions options = cluster->options();
    if (options.health.path.empty()) continue;
    for (const EndpointOptions& endpoint : options.endpoints) {
      const auto same = std::find_if(checks_.begin(), checks_.end(), [&](const auto& one) {
        return one->cluster == cluster && one->options.host == endpoint.host &&
               one->options.port == endpoint.port;
      });
      if (same != checks_.end()) {
        next.push_back(*same);
        continue;
      }
      next.push_back(std::make_shared<Check>(loop_, cluster, endpoint));
      boost::asio::co_spawn(loop_.io(), keep_checking(next.back()), boost::asio::detached);
    }
  }
  const auto before = std::move(checks_);
  checks_ = std::move(next);
  for (const auto& check : before) {
    if (std::find(checks_.begin(), checks_.end(), check) == checks_.end()) check->end();
  }
}

void HealthChecker::stop() noexcept {
  tick_timer_.disarm();
  const auto before = std::move(checks_);
  checks_.clear();
  for (const auto& check : before) check->end();
}

void HealthChecker::tick() {
  for (const auto& cluster : clusters_->all()) cluster->tick();
  tick_timer_.arm(loop_.now_ms() + kTickMs);
}

awaitable<void> HealthChecker::keep_checking(std::shared_ptr<Check> check) {
  while (!check->ended) {
    const HealthOptions options = check->cluster->options().health;
    const std::int64_t began = check->loop.now_ms();
    const std::string fault = co_await look(*check, options);
    if (check->ended) break;
    if (fault.empty()) {
      check->cluster->check_passed(*check->endpoint);
    } else {
      check->cluster->check_failed(*check->endpoint, fault);
    }
    const std::int64_t soon = check->loop.now_ms() + 1;
    const std::int64_t until = std::max(soon, began + check->next_ms(options.interval.count()));
    co_await check->pause.wait(until);
  }
}

// What is wrong, or nothing.
awaitable<std::string> HealthChecker::look(Check& check, const HealthOptions& options) {
  const std::int64_t until = check.loop.now_ms() + options.timeout.count();
  if (check.addresses.next() == nullptr) co_await check.addresses.wait_for_first(until);
  const net::PeerAddress* const address = check.addresses.next();
  if (address == nullptr) co_return "its name is not known";
  const auto tls = check.cluster->options().tls;
  std::unique_ptr<net::Stream> stream;
  net::TlsStream* secure = nullptr;
  if (tls == nullptr) {
    auto plain = net::begin_connect(check.loop, *address);
    if (plain) stream = std::move(*plain);
  } else {
    net::TlsStream::Client client{tls, check.options.host, nullptr};
    auto safe = net::begin_connect(check.loop, *address, std::move(client));
    if (safe) secure = safe->get();
    if (safe) stream = std::move(*safe);
  }
  if (stream == nullptr) co_return "no connection";
  check.wire = stream.get();
  const Wake wake = co_await stream->wait(Interest::write, until);
  std::string fault;
  if (wake != Wake::ready || stream->connect_error()) {
    fault = wake == Wake::timed_out ? "no connection in time" : "no connection";
  } else if (secure != nullptr) {
    const Result<void> done = co_await secure->handshake(until);
    if (!done) fault = "no TLS connection: " + done.error().message();
  }
  net::Stream& wire = *stream;
  if (fault.empty()) fault = co_await ask(check, wire, options, until);
  check.wire = nullptr;
  co_return fault;
}

awaitable<std::string> HealthChecker::ask(Check& check, net::Stream& wire, const HealthOptions& options,
                                          std::int64_t until) {
  const bool local = check.options.host.starts_with("unix:");
  const std::string& own = check.endpoint->name;
  std::string request = "GET " + options.path + " HTTP/1.1\r\nHost: ";
  request += !options.host.empty() ? options.host : local ? "localhost" : own;
  request += "\r\nUser-Agent: weir-health\r\nConnection: close\r\n\r\n";
  std::size_t sent = 0;
  while (sent < request.size()) {
    const auto taken = wire.try_write(std::string_view(request).substr(sent));
    if (!taken) co_return "the connection broke";
    sent += *taken;
    if (sent == request.size()) break;
    const Wake wake = co_await wire.wait(Interest::write, until);
    if (wake != Wake::ready) co_return "no answer in time";
  }
  std::string bytes;
  http::ResponseParser parser;
  http::ResponseHead head;
  while (bytes.size() < kMostHeadBytes) {
    const auto got = wire.try_read(check.loop.scratch());
    if (!got && net::would_block(got.error())) {
      const Wake wake = co_await wire.wait(Interest::read, until);
      if (wake != Wake::ready) co_return "no answer in time";
      continue;
    }
    if (!got || *got == 0) co_return "the connection ended before the answer";
    bytes.append(check.loop.scratch().data(), *got);
    parser.reset();
    const auto state = parser.parse(bytes, http::Method::get, head);
    if (state == http::ResponseParser::State::refused) co_return "no HTTP answer";
    if (state == http::ResponseParser::State::incomplete) continue;
    if (head.status < 200) {
      bytes.erase(0, parser.head_end());
      continue;
    }
    const bool good = head.status >= options.status_from && head.status <= options.status_to;
    co_return good ? std::string() : "status " + std::to_string(head.status);
  }
  co_return "no HTTP answer";
}

}  // namespace weir::upstream
