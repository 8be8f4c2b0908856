// SPDX-License-Identifier: Apache-2.0
#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <utility>

#include "redis/resp.hpp"

namespace weir::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

}  // namespace

std::uint16_t free_port() {
  static std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<int> pick(15000, 32000);
  while (true) {
    const auto port = static_cast<std::uint16_t>(pick(random));
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool free = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (free) return port;
  }
}

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
  port_ = free_port();
  unix_path_ = "/tmp/weir-redis-" + std::to_string(port_) + ".sock";
  start();
}

RedisServer::~RedisServer() {
  kill();
}

void RedisServer::start() {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--dir",
                                 "/tmp",
                                 "--unixsocket",
                                 unix_path_};
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  for (int tries = 0; tries < 2000; ++tries) {
    const int socket = connect_to(port_);
    if (socket >= 0) {
      ::close(socket);
      return;
    }
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    ::usleep(5000);
  }
  throw std::runtime_error("redis-server does not start");
}

void RedisServer::pause() {
  ::kill(pid_, SIGSTOP);
}

void RedisServer::resume() {
  ::kill(pid_, SIGCONT);
}

void RedisServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::unlink(unix_path_.c_str());
  pid_ = -1;
}

void RedisServer::restart() {
  kill();
  start();
}

RespClient::RespClient(std::uint16_t port) : socket_(connect_to(port)) {
  if (socket_ < 0) throw std::runtime_error("no server on port " + std::to_string(port));
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval patience{30, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

RespClient::~RespClient() {
  ::close(socket_);
}

void RespClient::send(std::string_view requests) {
  while (!requests.empty()) {
    const ssize_t sent = ::send(socket_, requests.data(), requests.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server is gone");
    requests.remove_prefix(static_cast<std::size_t>(sent));
  }
}

redis::Reply RespClient::receive() {
  redis::Reply reply;
  while (true) {
    const auto progress = reader_.next(reply);
    if (progress == redis::ReplyReader::Progress::complete) return reply;
    char bytes[65536];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0 || progress == redis::ReplyReader::Progress::broken) {
      throw std::runtime_error("no reply from the server");
    }
    reader_.feed({bytes, static_cast<std::size_t>(got)});
  }
}

redis::Reply RespClient::call(std::initializer_list<std::string_view> words) {
  std::string request;
  redis::append_command(request, words);
  send(request);
  return receive();
}

std::size_t expect_all_keys_end(RespClient& client, std::int64_t most_ms) {
  std::size_t keys = 0;
  std::string cursor = "0";
  do {
    const redis::Reply page = client.call({"SCAN", cursor, "COUNT", "1000"});
    cursor = page.elements.at(0).text;
    for (const redis::Reply& key : page.elements.at(1).elements) {
      const std::int64_t left = client.integer({"PTTL", key.text});
      if (left == -2) continue;  // ended between the two calls
      ++keys;
      EXPECT_GT(left, 0) << key.text;
      EXPECT_LE(left, most_ms) << key.text;
    }
  } while (cursor != "0");
  return keys;
}

}  // namespace weir::test
