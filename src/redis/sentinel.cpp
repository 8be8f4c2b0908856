// SPDX-License-Identifier: Apache-2.0
#include "redis/sentinel.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <utility>

#include "redis/resp.hpp"

namespace weir::redis {
namespace {

Result<Address> address_of(const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2)
    return make_error_code(ErrorKind::unavailable);
  Address found{reply.elements[0].text, 0};
  const std::string& port = reply.elements[1].text;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), found.port);
  if (read.ec != std::errc() || found.port == 0) return make_error_code(ErrorKind::protocol);
  return found;
}

}  // namespace

Sentinels::Sentinels(Executor executor, SentinelOptions options)
    : executor_(executor), options_(std::move(options)) {}

boost::asio::awaitable<Result<Address>> Sentinels::find(TimePoint deadline) {
  const std::size_t count = options_.sentinels.size();
  Result<Address> found = make_error_code(ErrorKind::unavailable);
  for (std::size_t n = 0; n < count && !found && !closed_; ++n) {
    const std::size_t index = (last_good_ + n) % count;
    const auto now = std::chrono::steady_clock::now();
    const TimePoint until = now + (deadline - now) / static_cast<int>(count - n);
    const Address sentinel = options_.sentinels[index];
    found = co_await ask(sentinel, until);
    if (found) last_good_ = index;
  }
  co_return found;
}

void Sentinels::close() {
  closed_ = true;
  if (const auto link = std::exchange(link_, nullptr)) link->close();
}

// The connection is kept for the next question.
std::shared_ptr<Connection> Sentinels::link_to(const Address& sentinel) {
  if (link_ != nullptr && link_->options().host == sentinel.host && link_->options().port == sentinel.port)
    return link_;
  if (const auto other = std::exchange(link_, nullptr)) other->close();
  ConnectionOptions options;
  options.host = sentinel.host;
  options.port = sentinel.port;
  options.username = options_.username;
  options.password = options_.password;
  options.tls = options_.tls;
  link_ = Connection::start(executor_, std::move(options));
  return link_;
}

boost::asio::awaitable<Result<Address>> Sentinels::ask(const Address& sentinel, TimePoint deadline) {
  const auto link = link_to(sentinel);
  const bool ready = co_await link->wait_ready(deadline);
  if (!ready) co_return make_error_code(ErrorKind::unavailable);
  std::string request;
  append_command(request, {"SENTINEL", "get-master-addr-by-name", options_.primary});
  const Result<Reply> reply = co_await link->execute(request, deadline, boost::asio::use_awaitable);
  if (!reply) co_return reply.error();
  co_return address_of(*reply);
}

}  // namespace weir::redis
