// SPDX-License-Identifier: Apache-2.0
#include "store/published_document.hpp"

#include <charconv>

#include "base/hash.hpp"
#include "weir/base/append.hpp"

namespace weir::store {
namespace {

// Hashed: a node's name may hold anything, also what would be a hash tag of its own.
std::string key_of(std::string_view node) {
  std::string key;
  append(key, "w1:{quotas:", Digits<16>(stable_hash(node)), "}");
  return key;
}

std::int64_t number_of(const redis::Reply& reply) {
  std::int64_t value = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), value);
  return value;
}

// version, at and perhaps the document, from the n-th element on.
Published published_in(redis::Reply& reply, std::size_t n) {
  Published out{std::move(reply.elements[n].text), number_of(reply.elements[n + 1]), {}};
  if (reply.elements.size() > n + 2) out.document = std::move(reply.elements[n + 2].text);
  return out;
}

}  // namespace

PublishedDocument::PublishedDocument(std::shared_ptr<redis::ScriptCaller> caller, std::string_view node,
                                     std::chrono::milliseconds timeout)
    : caller_(std::move(caller)), key_(key_of(node)), timeout_(timeout) {}

redis::ScriptArguments PublishedDocument::open_call(std::string_view what) const {
  redis::ScriptArguments arguments;
  arguments.start(1);
  arguments.add(key_);
  arguments.add(what);
  return arguments;
}

boost::asio::awaitable<Result<redis::Reply>> PublishedDocument::ask(redis::ScriptArguments arguments,
                                                                    std::size_t elements) {
  const redis::Slot slot = redis::slot_of(key_);
  const redis::TimePoint deadline = std::chrono::steady_clock::now() + timeout_;
  Result<redis::Reply> reply = co_await caller_->call(redis::kPublished, slot, arguments, deadline);
  if (!reply || reply->elements.size() == elements) co_return reply;
  caller_->distrust(slot);
  co_return redis::make_error_code(redis::ErrorKind::protocol);
}

boost::asio::awaitable<Result<Published>> PublishedDocument::get(std::string_view what,
                                                                 std::size_t elements) {
  redis::ScriptArguments arguments = open_call(what);
  Result<redis::Reply> reply = co_await ask(std::move(arguments), elements);
  if (!reply) co_return reply.error();
  co_return published_in(*reply, 0);
}

boost::asio::awaitable<Result<Published>> PublishedDocument::look() {
  return get("look", 2);
}

boost::asio::awaitable<Result<Published>> PublishedDocument::read() {
  return get("read", 3);
}

boost::asio::awaitable<Result<Published>> PublishedDocument::former() {
  return get("former", 3);
}

boost::asio::awaitable<Result<Publication>> PublishedDocument::publish(std::string replaces, std::string hash,
                                                                       std::string document) {
  redis::ScriptArguments arguments = open_call("publish");
  for (const std::string* word : {&replaces, &hash, &document}) arguments.add(*word);
  Result<redis::Reply> reply = co_await ask(std::move(arguments), 3);
  if (!reply) co_return reply.error();
  const bool done = reply->elements[0].integer == 1;
  Publication out{done, published_in(*reply, 1)};
  co_return out;
}

}  // namespace weir::store
