// SPDX-License-Identifier: Apache-2.0
#include "store/store_check.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>

#include "redis/resp.hpp"
#include "weir/base/clock.hpp"

namespace weir::store {
namespace {

using redis::ErrorKind;
using redis::Reply;

constexpr std::int64_t kClockToleranceMs = 1000;
constexpr std::chrono::seconds kAskAgain(1);

using Words = std::initializer_list<std::string_view>;

boost::asio::awaitable<Result<Reply>> ask(redis::Connection& server, std::string request) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  co_return co_await server.execute(request, deadline, boost::asio::use_awaitable);
}

std::string request_of(Words words) {
  std::string request;
  redis::append_command(request, words);
  return request;
}

std::int64_t number_of(const Reply& reply) {
  std::int64_t value = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), value);
  return value;
}

// CONFIG GET answers [name, value].
std::string value_in(const Result<Reply>& reply) {
  return reply && reply->elements.size() == 2 ? reply->elements[1].text : std::string();
}

bool failed_as(const Result<Reply>& reply, ErrorKind kind) {
  return !reply && reply.error() == redis::make_error_code(kind);
}

boost::asio::awaitable<void> look_for_scripts(std::shared_ptr<redis::Connection> server,
                                              std::shared_ptr<StoreCheck> check) {
  boost::asio::steady_timer pause(server->executor());
  bool denied = true;
  while (denied) {
    std::string request = request_of({"EVAL", "return 1", "0"});
    const Result<Reply> script = co_await ask(*server, std::move(request));
    denied = failed_as(script, ErrorKind::noperm);
    if (denied || script) check->set(Finding::no_scripts, denied);
    check->look_is_done();
    if (!denied) co_return;
    pause.expires_after(kAskAgain);
    error_code failed;
    co_await pause.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, failed));
  }
}

}  // namespace

std::string_view name_of(Finding finding) noexcept {
  switch (finding) {
    case Finding::no_scripts:
      return "no_scripts";
    case Finding::evicts:
      return "evicts";
    case Finding::clock_differs:
      return "clock_differs";
    case Finding::no_cluster:
      return "no_cluster";
  }
  return "";
}

boost::asio::awaitable<void> look_at(std::shared_ptr<redis::Connection> server,
                                     std::shared_ptr<StoreCheck> check) {
  boost::asio::co_spawn(server->executor(), look_for_scripts(server, check), boost::asio::detached);
  std::string request = request_of({"TIME"});
  const Result<Reply> time = co_await ask(*server, std::move(request));
  if (time && time->elements.size() == 2) {
    const std::int64_t theirs = number_of(time->elements[0]) * 1000 + number_of(time->elements[1]) / 1000;
    const std::int64_t ahead = theirs - system_clock().wall_ms();
    check->set(Finding::clock_differs, std::abs(ahead) > kClockToleranceMs);
  }
  if (check->wants_cluster) {
    request = request_of({"CLUSTER", "INFO"});
    const Result<Reply> cluster = co_await ask(*server, std::move(request));
    check->set(Finding::no_cluster, failed_as(cluster, ErrorKind::other));
  }
  request = request_of({"CONFIG", "GET", "maxmemory"});
  const Result<Reply> most = co_await ask(*server, std::move(request));
  request = request_of({"CONFIG", "GET", "maxmemory-policy"});
  const Result<Reply> policy = co_await ask(*server, std::move(request));
  const std::string evicting = value_in(policy);
  if (!evicting.empty()) {
    const std::string bound = value_in(most);
    check->set(Finding::evicts, !bound.empty() && bound != "0" && evicting != "noeviction");
  }
}

}  // namespace weir::store
