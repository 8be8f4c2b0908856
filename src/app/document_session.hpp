// SPDX-License-Identifier: Apache-2.0
// The published document of a node for a caller that waits: a connection and a loop that runs until each
// question is answered. One thread.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "store/published_document.hpp"
#include "store/redis_store.hpp"

namespace weir::app {

class DocumentSession {
 public:
  // Begins to connect. `patience`: for the connection, and then for each answer.
  DocumentSession(const store::StoreOptions& store, const std::string& node,
                  std::chrono::milliseconds patience)
      : patience_(patience),
        caller_(store::make_caller(io_.get_executor(), store, nullptr,
                                   store::PublishedDocument::kMostReplyBytes)),
        document_(caller_, node, patience) {}
  ~DocumentSession() {
    caller_->close();
    io_.restart();
    io_.run();
  }
  DocumentSession(const DocumentSession&) = delete;
  DocumentSession& operator=(const DocumentSession&) = delete;

  // False: not connected in time. (In a cluster: to all of its shards; one may be enough.)
  bool reach() { return ask(redis::wait_ready(*caller_, std::chrono::steady_clock::now() + patience_)); }
  store::PublishedDocument& document() noexcept { return document_; }

  template <class T>
  T ask(boost::asio::awaitable<T> question) {
    std::future<T> answer = boost::asio::co_spawn(io_, std::move(question), boost::asio::use_future);
    io_.restart();
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io_.run_one();
    return answer.get();
  }
  // Why the last connection, or the attempt at one, ended; success if none did.
  error_code last_error() const {
    const int kind = caller_->stats().last_error.load();
    return kind == 0 ? error_code() : redis::make_error_code(static_cast<redis::ErrorKind>(kind));
  }

 private:
  const std::chrono::milliseconds patience_;
  boost::asio::io_context io_{1};
  std::shared_ptr<redis::ScriptCaller> caller_;
  store::PublishedDocument document_;
};

}  // namespace weir::app
