// SPDX-License-Identifier: Apache-2.0
// What a decision over Redis costs: chains of four layers through RedisStore, 64 under way at once, against a
// redis-server of its own. Prints decisions per second and CPU per decision, of this process and of the
// server.
//
//   redis_bench [decisions]
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "store/redis_store.hpp"

namespace {

using namespace weir;
using Seconds = std::chrono::duration<double>;

constexpr int kDepth = 64;
constexpr int kCallers = 10'000;

class Server {
 public:
  Server() {
    path_ = "/tmp/weir-redis-bench-" + std::to_string(::getpid()) + ".sock";
    port_ = std::to_string(20'000 + ::getpid() % 10'000);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::freopen("/dev/null", "w", stdout);
    ::execlp("redis-server", "redis-server", "--port", port_.c_str(), "--bind", "127.0.0.1", "--unixsocket",
             path_.c_str(), "--save", "", "--appendonly", "no", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unlink(path_.c_str());
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoi(port_)); }
  const std::string& path() const { return path_; }

  double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
    std::string skipped;
    long user = 0;
    long system = 0;
    for (int field = 1; field <= 13; ++field) stat >> skipped;
    stat >> user >> system;
    return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t pid_;
  std::string port_;
  std::string path_;
};

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Run {
  store::RedisStore& store;
  std::string mark;  // runs of one server share no counter
  std::array<limit::Policy, 4> policies;
  int left;
  int active = 0;
  long refused = 0;
  long failed = 0;
};

void add_layer(limit::ChargeSet& set, const limit::Policy& policy, const std::string& key) {
  char* const place = set.keys.data() + set.keys_used;
  std::memcpy(place, key.data(), key.size());
  set.keys_used += key.size();
  limit::Charge& charge = set.charge[set.size++];
  charge.policy = &policy;
  charge.key = {place, key.size()};
  charge.request.owner = 1;
}

boost::asio::awaitable<void> visitor(Run& run, unsigned seed) {
  limit::ChargeSet set;
  ++run.active;
  while (run.left-- > 0) {
    seed = seed * 1664525U + 1013904223U;
    const std::string caller = run.mark + "{c=caller" + std::to_string((seed >> 8) % kCallers) + "}";
    set.clear();
    add_layer(set, run.policies[0], run.mark + "{n}:node:60000");
    add_layer(set, run.policies[1], caller + ":caller:60000");
    add_layer(set, run.policies[2], caller + ":u=alice:user:60000");
    add_layer(set, run.policies[3], caller + ":a=%2Forder%2Fpay:api:60000");
    co_await run.store.decide(set);
    if (set.store_error) ++run.failed;
    if (!set.charge[2].verdict.within_limit) ++run.refused;
  }
  --run.active;
}

void measure(const Server& server, const char* name, const redis::ConnectionOptions& options,
             const std::array<limit::Terms, 4>& terms, int decisions) {
  boost::asio::io_context loop(1);
  const auto connection = redis::Connection::start(loop.get_executor(), options);
  store::RedisStore store(std::make_shared<redis::SingleCaller>(connection), std::chrono::seconds(10));
  while (!connection->ready()) loop.run_one();
  static int runs = 0;
  Run run{store, "w2:edge-" + std::to_string(++runs) + ":", {}, decisions};
  for (std::size_t n = 0; n < 4; ++n) run.policies[n].terms = terms[n];
  const double own = own_cpu_seconds();
  const double theirs = server.cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned n = 0; n < kDepth; ++n) {
    boost::asio::co_spawn(loop, visitor(run, n * 7919), boost::asio::detached);
  }
  while (run.left > 0 || run.active > 0) loop.run_one();
  const double wall = Seconds(std::chrono::steady_clock::now() - begin).count();
  const auto micros = [decisions](double seconds) { return seconds * 1e6 / decisions; };
  std::printf("%-34s %9.0f/s   gateway %5.2f us   redis %5.2f us   refused %4.1f %%   failed %ld\n", name,
              decisions / wall, micros(own_cpu_seconds() - own), micros(server.cpu_seconds() - theirs),
              100.0 * static_cast<double>(run.refused) / decisions, run.failed);
  connection->close();
  loop.restart();
  loop.run();
}

limit::Terms terms_of(limit::AlgorithmKind kind, std::int64_t limit) {
  return {kind, limit, 60'000, limit, 0, 10, false};
}

std::array<limit::Terms, 4> four(limit::AlgorithmKind kind, std::int64_t limit) {
  const std::int64_t wide = 100'000'000;
  return {terms_of(kind, wide), terms_of(kind, wide), terms_of(kind, limit), terms_of(kind, wide)};
}

}  // namespace

int main(int count, char** words) {
  const int decisions = count > 1 ? std::atoi(words[1]) : 100'000;
  const Server server;
  redis::ConnectionOptions tcp;
  tcp.port = server.port();
  redis::ConnectionOptions local;
  local.unix_path = server.path();
  using enum limit::AlgorithmKind;
  const std::int64_t wide = 100'000'000;
  const std::array mixed{terms_of(sliding_window, wide), terms_of(token_bucket, wide),
                         terms_of(token_bucket, wide), terms_of(fixed_window, wide)};
  measure(server, "mixed, tcp (as configured)", tcp, mixed, decisions);
  measure(server, "mixed, unix socket", local, mixed, decisions);
  for (const auto kind : {token_bucket, gcra, fixed_window, sliding_counter, sliding_window, leaky_bucket}) {
    measure(server, std::string(limit::name_of(kind)).c_str(), tcp, four(kind, wide), decisions);
  }
  measure(server, "sliding_log, limit 50 per user", tcp,
          {terms_of(token_bucket, wide), terms_of(token_bucket, wide), terms_of(sliding_log, 50),
           terms_of(token_bucket, wide)},
          decisions);
  measure(server, "token_bucket, most are refused", tcp, four(token_bucket, 1), decisions);
  return 0;
}
