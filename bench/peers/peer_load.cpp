// SPDX-License-Identifier: Apache-2.0
// Load for a proxy, and the upstream behind it, in one thread. Closed loop: each connection asks again as
// soon as it was answered. Both ends are one process and do nothing but move octets, so that a proxy is never
// short of work: where it has to wait for slower ends it sleeps and wakes, and what that costs hides what the
// proxy costs.
//   usage: peer_load UPSTREAM_PORT BODY_OCTETS
// Reads a line `PORT CONNECTIONS SECONDS` from standard input, loads that port, and prints one line of JSON:
// requests that were answered, how many of them not by a 2xx, and response times. The upstream answers until
// the input ends.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "wire.hpp"

namespace {

namespace bench = weir::bench;
using Clock = std::chrono::steady_clock;

constexpr int kUsers = 1000;  // of 10 callers, on 10 paths; so is compare.py's load for wrk

enum class Role { commands, listener, upstream, client };

struct Link {
  Role role;
  int socket = -1;
  std::string received;     // a message of which more is to come
  std::size_t missing = 0;  // client: octets of a body that are to come and are not kept
  std::size_t unsent = 0;   // upstream: of the answer
  int status = 0;           // client: of the answer whose body is missing
  Clock::time_point asked;  // client
};

struct Window {
  std::uint16_t port = 0;
  unsigned connections = 0;
  double seconds = 0;
};

std::vector<std::string> requests_of_all_users() {
  std::vector<std::string> requests;
  for (int user = 1; user <= kUsers; ++user) {
    const std::string caller = std::to_string(user % 10);
    requests.push_back("GET /item/" + caller + " HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Caller-Id: c" + caller +
                       "\r\nX-User-Id: u" + std::to_string(user) +
                       "\r\nAccept: */*\r\nUser-Agent: bench/1.0\r\n\r\n");
  }
  return requests;
}

std::string answer_of(std::size_t body) {
  return "HTTP/1.1 200 OK\r\nServer: peer_load\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nContent-Type: "
         "text/plain\r\n"
         "Content-Length: " +
         std::to_string(body) + "\r\nConnection: keep-alive\r\n\r\n" + std::string(body, 'x');
}

class PeerLoad {
 public:
  PeerLoad(std::uint16_t upstream_port, std::size_t body)
      : requests_(requests_of_all_users()), answer_(answer_of(body)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in at = bench::loopback(upstream_port);
    if (bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        listen(listening, 4096) != 0)
      throw std::runtime_error("port " + std::to_string(upstream_port) + " is taken");
    watch(*links_.emplace(links_.end(), Role::listener, listening), EPOLL_CTL_ADD, EPOLLIN);
    watch(*links_.emplace(links_.end(), Role::commands, STDIN_FILENO), EPOLL_CTL_ADD, EPOLLIN);
  }

  void serve() {
    while (!done_) {
      turn();
      if (wanted_) load(*std::exchange(wanted_, std::nullopt));
    }
  }

 private:
  void watch(Link& link, int how, std::uint32_t events) const {
    epoll_event event{events, {.ptr = &link}};
    epoll_ctl(epoll_, how, link.socket, &event);
  }

  void turn() {
    epoll_event events[128];
    const int count = epoll_wait(epoll_, events, 128, 1000);
    for (int n = 0; n < count; ++n) {
      Link& link = *static_cast<Link*>(events[n].data.ptr);
      switch (link.role) {
        case Role::commands:
          obey();
          break;
        case Role::listener:
          accept_one(link);
          break;
        case Role::upstream:
          answer(link, events[n].events);
          break;
        case Role::client:
          take_answer(link);
          break;
      }
    }
  }

  void obey() {
    char block[256];
    const ssize_t got = read(STDIN_FILENO, block, sizeof block);
    if (got <= 0) return void(done_ = true);
    std::istringstream words(std::string(block, static_cast<std::size_t>(got)));
    Window window;
    if (!(words >> window.port >> window.connections >> window.seconds))
      throw std::runtime_error("not a line of PORT CONNECTIONS SECONDS");
    wanted_ = window;
  }

  void load(const Window& window) {
    micros_.clear();
    refused_ = 0;
    std::deque<Link> clients;
    const auto began = Clock::now();
    end_ = began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(window.seconds));
    for (unsigned n = 0; n < window.connections; ++n) {
      Link& link = clients.emplace_back(Role::client, bench::connected_to(window.port));
      watch(link, EPOLL_CTL_ADD, EPOLLIN);
      ask(link, Clock::now());
    }
    while (under_way_ > 0) {
      turn();
      if (Clock::now() > end_ + std::chrono::seconds(30)) throw std::runtime_error("answers are missing");
    }
    const std::chrono::duration<double> took = Clock::now() - began;
    for (const Link& link : clients) close(link.socket);
    print(took.count());
  }

  void print(double seconds) {
    std::sort(micros_.begin(), micros_.end());
    const auto at = [this](double share) {
      return micros_[static_cast<std::size_t>(share * (micros_.size() - 1))];
    };
    std::cout << "{\"seconds\": " << seconds << ", \"requests\": " << micros_.size()
              << ", \"refused\": " << refused_ << ", \"p50_us\": " << at(0.5) << ", \"p99_us\": " << at(0.99)
              << "}" << std::endl;
  }

  void ask(Link& link, Clock::time_point now) {
    const std::string& request = requests_[next_];
    next_ = (next_ + 1) % requests_.size();
    link.asked = now;
    ++under_way_;
    if (send(link.socket, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
      throw std::runtime_error("a request could not be sent");
  }

  void take_answer(Link& link) {
    std::string_view got = receive(link);
    if (got.empty()) throw std::runtime_error("the proxy closed a connection");
    if (link.missing == 0) {
      if (!link.received.empty()) got = link.received.append(got);
      const auto found = bench::answer_at(got);
      if (!found) {
        if (link.received.empty()) link.received = got;
        return;
      }
      link.status = found->status;
      link.missing = found->size;
    }
    link.missing -= std::min(link.missing, got.size());
    link.received.clear();
    if (link.missing > 0) return;
    const auto now = Clock::now();
    micros_.push_back(static_cast<std::uint32_t>((now - link.asked) / std::chrono::microseconds(1)));
    refused_ += link.status / 100 != 2 ? 1 : 0;
    --under_way_;
    if (now < end_) ask(link, now);
  }

  void accept_one(const Link& listener) {
    const int made = accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made < 0) return;
    bench::send_at_once(made);
    watch(*links_.emplace(links_.end(), Role::upstream, made), EPOLL_CTL_ADD, EPOLLIN);
  }

  // The proxy asks one thing at a time, without a body.
  void answer(Link& link, std::uint32_t events) {
    if (link.unsent == 0) {
      const std::string_view got = receive(link);
      if (got.empty()) return void(close(link.socket));  // its entry stays: the proxies keep theirs
      link.received.append(got);
      if (!link.received.ends_with("\r\n\r\n")) return;
      link.received.clear();
      link.unsent = answer_.size();
    } else if ((events & EPOLLOUT) == 0) {
      return;
    }
    const bool waited = (events & EPOLLOUT) != 0;
    const ssize_t sent =
        send(link.socket, answer_.data() + answer_.size() - link.unsent, link.unsent, MSG_NOSIGNAL);
    link.unsent -= static_cast<std::size_t>(std::max<ssize_t>(0, sent));
    if (link.unsent > 0 || waited) watch(link, EPOLL_CTL_MOD, link.unsent > 0 ? EPOLLOUT : EPOLLIN);
  }

  std::string_view receive(const Link& link) {
    const ssize_t got = recv(link.socket, block_, sizeof block_, 0);
    return {block_, static_cast<std::size_t>(std::max<ssize_t>(0, got))};
  }

  std::vector<std::string> requests_;
  std::string answer_;
  int epoll_;
  std::deque<Link> links_;  // the upstream's, and what commands come from
  std::vector<std::uint32_t> micros_;
  std::size_t next_ = 0;
  std::size_t refused_ = 0;
  std::size_t under_way_ = 0;
  Clock::time_point end_;
  std::optional<Window> wanted_;
  bool done_ = false;
  char block_[65536];
};

}  // namespace

int main(int count, char** words) try {
  if (count != 3) throw std::runtime_error("usage: peer_load UPSTREAM_PORT BODY_OCTETS");
  PeerLoad load(static_cast<std::uint16_t>(std::atoi(words[1])), std::strtoul(words[2], nullptr, 10));
  load.serve();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "peer_load: " << error.what() << "\n";
  return 1;
}
