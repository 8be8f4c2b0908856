// SPDX-License-Identifier: Apache-2.0
// Questions from another thread to a worker: a store belongs to its worker.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "app/worker.hpp"

namespace weir::app {

inline constexpr std::chrono::seconds kAskPatience(1);

// Runs the question on the worker's loop and waits for at most kAskPatience. nullopt: no answer in time, or
// it threw; the question may then still be running, so it owns (by shared_ptr) all that it touches. Not from
// a worker's thread.
template <class Answer>
std::optional<Answer> ask_worker(Worker& worker, boost::asio::awaitable<Answer> question) {
  const auto said = std::make_shared<std::promise<std::optional<Answer>>>();
  auto answer = said->get_future();
  boost::asio::co_spawn(worker.io(), std::move(question),
                        [said](const std::exception_ptr& failed, Answer value) {
                          said->set_value(failed ? std::nullopt : std::optional<Answer>(std::move(value)));
                        });
  if (answer.wait_for(kAskPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace weir::app
