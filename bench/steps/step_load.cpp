// SPDX-License-Identifier: Apache-2.0
// One step of load: requests fall due at a fixed rate, whether or not earlier ones were answered (open loop),
// and each response time counts from the moment its request was due. A generator that waits for answers
// before it asks again would hide exactly the stalls that are looked for.
//   usage: step_load PORT RATE SECONDS CONNECTIONS HEADER...
// Prints one JSON object: how long it took until the last answer, which is longer than asked for where the
// machine could not keep up; and by status, how many and at which percentiles of response time.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "wire.hpp"

namespace {

namespace bench = weir::bench;
using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;

struct Link {
  int socket = -1;
  Instant due;
  std::string answer;
};

struct Step {
  std::uint16_t port = 0;
  double rate = 0;
  double seconds = 0;
  std::size_t connections = 0;
  std::string request;
};

class Load {
 public:
  explicit Load(const Step& step) : step_(step), links_(step.connections), epoll_(epoll_create1(0)) {
    for (Link& link : links_) open(link);
  }

  void run() {
    const auto gap =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / step_.rate));
    const auto total = static_cast<std::int64_t>(step_.rate * step_.seconds);
    const Instant begin = Clock::now();
    std::int64_t next = 0;
    while (next < total || idle_.size() < links_.size() || !waiting_.empty()) {
      const Instant now = Clock::now();
      while (next < total && begin + next * gap <= now) waiting_.push_back(begin + gap * next++);
      while (!waiting_.empty() && !idle_.empty()) send_one();
      listen(next < total ? begin + next * gap - Clock::now()
                          : Clock::duration(std::chrono::milliseconds(100)));
      if (now > begin + std::chrono::duration<double>(step_.seconds + 30))
        throw std::runtime_error("answers are missing");
    }
    took_ = std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void print() {
    std::cout << "{\"seconds\": " << took_ << ", \"statuses\": {";
    const char* comma = "";
    for (auto& [status, micros] : times_) {
      std::sort(micros.begin(), micros.end());
      std::cout << comma << '"' << status << "\": {\"count\": " << micros.size();
      for (const auto& [name, share] :
           {std::pair("p50_us", 0.5), std::pair("p99_us", 0.99), std::pair("max_us", 1.0)})
        std::cout << ", \"" << name
                  << "\": " << micros[static_cast<std::size_t>(share * (micros.size() - 1))];
      std::cout << "}";
      comma = ", ";
    }
    std::cout << "}}\n";
  }

 private:
  void open(Link& link) {
    link.socket = bench::connected_to(step_.port);
    epoll_event event{EPOLLIN, {.ptr = &link}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, link.socket, &event);
    idle_.push_back(&link);
  }

  void send_one() {
    Link& link = *idle_.front();
    idle_.pop_front();
    link.due = waiting_.front();
    waiting_.pop_front();
    if (send(link.socket, step_.request.data(), step_.request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(step_.request.size()))
      throw std::runtime_error("a request could not be sent");
  }

  void listen(Clock::duration most) {
    const auto nanos = std::max<std::int64_t>(0, std::chrono::nanoseconds(most).count());
    const timespec wait{nanos / 1'000'000'000, nanos % 1'000'000'000};
    epoll_event events[64];
    const int count = epoll_pwait2(epoll_, events, 64, &wait, nullptr);
    for (int n = 0; n < count; ++n) receive(*static_cast<Link*>(events[n].data.ptr));
  }

  void receive(Link& link) {
    char block[16384];
    const ssize_t got = recv(link.socket, block, sizeof block, 0);
    if (got <= 0) throw std::runtime_error("a connection was closed");
    link.answer.append(block, static_cast<std::size_t>(got));
    const auto found = bench::answer_at(link.answer);
    if (!found || link.answer.size() < found->size) return;
    times_[found->status].push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - link.due).count());
    link.answer.clear();
    idle_.push_back(&link);
  }

  Step step_;
  std::vector<Link> links_;
  int epoll_;
  double took_ = 0;
  std::deque<Link*> idle_;
  std::deque<Instant> waiting_;
  std::map<int, std::vector<std::int64_t>> times_;
};

}  // namespace

int main(int count, char** words) try {
  if (count < 5) throw std::runtime_error("usage: step_load PORT RATE SECONDS CONNECTIONS HEADER...");
  Step step;
  step.port = static_cast<std::uint16_t>(std::atoi(words[1]));
  step.rate = std::atof(words[2]);
  step.seconds = std::atof(words[3]);
  step.connections = static_cast<std::size_t>(std::atoi(words[4]));
  step.request = "GET /order HTTP/1.1\r\nHost: steps\r\n";
  for (int n = 5; n < count; ++n) step.request += std::string(words[n]) + "\r\n";
  step.request += "\r\n";
  Load load(step);
  load.run();
  load.print();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "step_load: " << error.what() << "\n";
  return 1;
}
