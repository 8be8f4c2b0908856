// SPDX-License-Identifier: Apache-2.0
// A real redis-server of the test's own: nothing persisted, on a free port of 127.0.0.1, stopped by its pid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply.hpp"

namespace weir::test {

// A port that nobody listens on, below the range that the kernel gives to clients.
std::uint16_t free_port();

class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  const std::string& unix_path() const { return unix_path_; }

  void pause();    // SIGSTOP: accepts bytes, answers nothing
  void resume();   // SIGCONT
  void kill();     // gone at once
  void restart();  // empty, on the same port

 private:
  void start();

  std::vector<std::string> options_;
  std::string unix_path_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

// A blocking client for what a test wants to see or change on the server.
class RespClient {
 public:
  explicit RespClient(std::uint16_t port);
  ~RespClient();
  RespClient(const RespClient&) = delete;
  RespClient& operator=(const RespClient&) = delete;

  redis::Reply call(std::initializer_list<std::string_view> words);
  // Pipelining: any number of send() calls, then as many receive() calls as there were requests.
  void send(std::string_view requests);
  redis::Reply receive();

  std::int64_t integer(std::initializer_list<std::string_view> words) { return call(words).integer; }
  std::string text(std::initializer_list<std::string_view> words) { return call(words).text; }

 private:
  int socket_;
  redis::ReplyReader reader_{64 * 1024 * 1024};
};

// Every key of the server has an end, and not later than `most_ms` from now; returns how many there are.
// Fails the test otherwise.
std::size_t expect_all_keys_end(RespClient& client, std::int64_t most_ms);

}  // namespace weir::test
