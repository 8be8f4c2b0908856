// SPDX-License-Identifier: Apache-2.0
// Runs an event loop until a coroutine is done.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace weir::test {

inline constexpr std::chrono::seconds kPatience{60};

template <class Done>
void run_until(boost::asio::io_context& loop, Done done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(10));
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it takes too long");
  }
}

template <class T>
T await(boost::asio::io_context& loop, boost::asio::awaitable<T> work) {
  std::optional<T> result;
  std::exception_ptr failure;
  boost::asio::co_spawn(loop, std::move(work), [&](std::exception_ptr thrown, T value) {
    failure = thrown;
    result.emplace(std::move(value));
  });
  run_until(loop, [&] { return result.has_value(); });
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

inline void await(boost::asio::io_context& loop, boost::asio::awaitable<void> work) {
  bool done = false;
  std::exception_ptr failure;
  boost::asio::co_spawn(loop, std::move(work), [&](std::exception_ptr thrown) {
    failure = thrown;
    done = true;
  });
  run_until(loop, [&] { return done; });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weir::test
