// SPDX-License-Identifier: Apache-2.0
#include "redis/script.hpp"

#include <boost/asio/use_awaitable.hpp>

#include "redis/resp.hpp"

namespace weir::redis {
namespace {

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";

}  // namespace

void ScriptArguments::add(std::string_view word) {
  append_bulk(tail, word);
  ++words;
}

void ScriptArguments::add(std::int64_t word) {
  append_bulk(tail, word);
  ++words;
}

void ScriptArguments::add(const ScriptArguments& more) {
  tail.append(more.tail);
  words += more.words;
}

ScriptRunner::ScriptRunner(std::shared_ptr<Connection> connection, const Script& script, ReloadCount reloads)
    : connection_(std::move(connection)), script_(script), reloads_(std::move(reloads)) {}

void ScriptRunner::encode(bool by_body, const ScriptArguments& arguments) {
  request_.clear();
  append_array(request_, arguments.words + 2);
  append_bulk(request_, std::string_view(by_body ? "EVAL" : "EVALSHA"));
  append_bulk(request_, by_body ? script_.body : script_.sha1);
  request_.append(arguments.tail);
}

boost::asio::awaitable<Result<Reply>> ScriptRunner::run(const ScriptArguments& arguments, TimePoint deadline,
                                                        Asking asking) {
  constexpr int kMostSends = 3;
  bool by_body = false;
  for (int sends = 1;; ++sends) {
    encode(by_body, arguments);
    const std::string_view request = request_;
    if (asking == Asking::yes) connection_->execute(kAsking, deadline, [](const Result<Reply>&) {});
    const std::uint64_t position = connection_->sent();
    Result<Reply> reply = co_await connection_->execute(request, deadline, boost::asio::use_awaitable);
    const bool missing = !reply && reply.error() == make_error_code(ErrorKind::noscript);
    if (!missing || sends == kMostSends) co_return reply;
    // An EVAL that was sent after this call will have loaded the script before a new call arrives.
    by_body = loaded_behind_ <= position || sends + 1 == kMostSends;
    if (!by_body) continue;
    loaded_behind_ = connection_->sent() + 1;
    reloads_->fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace weir::redis
