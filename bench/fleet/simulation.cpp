// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <map>

namespace weir::bench {

using limit::ChargeSet;

namespace {

constexpr auto kQuietly = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr double kSweepEveryMs = 50;

struct World {
  struct Event {
    double at_ms;
    std::uint64_t number;
    std::function<void()> what;
    bool operator>(const Event& other) const {
      return std::pair(at_ms, number) > std::pair(other.at_ms, other.number);
    }
  };
  void at(double ms, std::function<void()> what) { events.push({ms, ++count, std::move(what)}); }
  // Runs everything up to `end_ms`.
  void run(double end_ms) {
    while (!events.empty() && events.top().at_ms <= end_ms) {
      Event next = events.top();
      events.pop();
      clock.now_ms = std::max(clock.now_ms, next.at_ms);
      next.what();
      loop.restart();
      loop.poll();
    }
    clock.now_ms = end_ms;
  }
  // One direction: 0.3 to 0.6 ms, of a thousand nine 2 to 5, one 10 to 20.
  double way_ms() {
    std::uniform_real_distribution<double> unit(0, 1);
    const double kind = unit(random);
    if (kind < 0.001) return 10 + 10 * unit(random);
    if (kind < 0.01) return 2 + 3 * unit(random);
    return 0.3 + 0.3 * unit(random);
  }

  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::uint64_t count = 0;
  SimulatedClock clock;
  boost::asio::io_context loop;
  std::mt19937 random;
};

// The way to the store and back.
class Wire final : public limit::CounterStore {
 public:
  Wire(World& world, store::MemoryStore& redis, double lost) : world_(world), redis_(redis), lost_(lost) {}
  bool decide_now(ChargeSet&) override { return false; }
  boost::asio::awaitable<void> decide(ChargeSet& set) override {
    ++calls;
    auto back = std::make_shared<boost::asio::steady_timer>(world_.loop);
    back->expires_at(boost::asio::steady_timer::time_point::max());
    const double arrives = world_.clock.now_ms + world_.way_ms();
    const bool lost = std::uniform_real_distribution<double>(0, 1)(world_.random) < lost_;
    world_.at(arrives, [this, &set] { redis_.decide_now(set); });
    world_.at(lost ? arrives + 20 : arrives + world_.way_ms(), [back] { back->cancel(); });
    co_await back->async_wait(kQuietly);
    if (lost) set.store_error = boost::asio::error::timed_out;
  }
  boost::asio::awaitable<void> peek(ChargeSet& set) override { return redis_.peek(set); }
  void settle(const ChargeSet& set, std::int64_t delta) override { redis_.settle(set, delta); }
  void release(const ChargeSet& set) override { redis_.release(set); }
  void renew(const ChargeSet& set) override { redis_.renew(set); }

  std::int64_t calls = 0;

 private:
  World& world_;
  store::MemoryStore& redis_;
  double lost_;
};

struct Instance {
  Instance(World& world, store::MemoryStore& redis, const store::LeaseOptions& options, double lost,
           store::Renewed renewed)
      : wire(world, redis, lost),
        pool(options),
        leases(world.loop.get_executor(), pool, wire, world.clock, std::move(renewed)),
        top(options.counting == store::Counting::exact ? static_cast<limit::CounterStore&>(wire) : leases) {}
  ~Instance() { leases.close(); }
  Wire wire;
  store::LeasePool pool;
  store::LeaseStore leases;
  limit::CounterStore& top;
};

// Draws 0 .. size-1 by Zipf's law; `shuffle` gives every rank another number.
class Zipf {
 public:
  Zipf(std::size_t size, double exponent) : number_(size) {
    for (std::size_t n = 0; n < size; ++n) {
      weights_.push_back(std::pow(static_cast<double>(n + 1), -exponent));
      number_[n] = n;
    }
    draw_ = std::discrete_distribution<std::size_t>(weights_.begin(), weights_.end());
  }
  void shuffle(std::mt19937& random) { std::shuffle(number_.begin(), number_.end(), random); }
  std::size_t operator()(std::mt19937& random) { return number_[draw_(random)]; }

 private:
  std::vector<double> weights_;
  std::vector<std::size_t> number_;
  std::discrete_distribution<std::size_t> draw_;
};

class Fleet {
 public:
  Fleet(const limit::Policy& policy, const store::LeaseOptions& options, const Load& load)
      : policy_(policy),
        options_(options),
        load_(load),
        redis_(100'000, world_.clock),
        any_key_(load.keys, load.key_skew),
        any_instance_(load.instances, load.instance_skew) {
    world_.random.seed(load.seed);
    world_.clock.now_ms = std::ceil(world_.clock.now_ms / window()) * window();
    begin_ms_ = world_.clock.now_ms;
    for (std::size_t n = 0; n < load.instances; ++n) instances_.push_back(fresh());
    for (std::size_t n = 0; n < load.keys; ++n) names_.push_back("key" + std::to_string(n));
  }

  Outcome run(std::int64_t could_pass) {
    const double end = begin_ms_ + static_cast<double>(load_.for_ms);
    next_arrival();
    sweep();
    if (load_.reshuffle_ms > 0) reshuffle();
    if (load_.lose_every_ms > 0)
      world_.at(begin_ms_ + static_cast<double>(load_.lose_every_ms) / 2, [this] { lose(); });
    if (load_.kill_every_ms > 0)
      world_.at(begin_ms_ + static_cast<double>(load_.kill_every_ms), [this] { kill(); });
    world_.run(begin_ms_ + window());
    const std::int64_t calls = total_calls();
    const std::int64_t offered = result_.offered;
    world_.run(end);
    result_.calls = total_calls() - calls;
    result_.counted = result_.offered - offered;
    judge(could_pass);
    for (const auto& each : instances_) count_leases(*each);
    for (const auto& each : dead_) count_leases(*each);
    return result_;
  }

 private:
  struct Count {
    std::int64_t offered = 0;
    std::int64_t allowed = 0;
  };

  double window() const { return static_cast<double>(policy_.terms.window_ms); }
  std::unique_ptr<Instance> fresh() {
    const auto renewed = [this](std::string_view, std::int64_t since_ms) {
      return load_.after_loss == AfterLoss::told && static_cast<double>(since_ms) <= lost_ms_;
    };
    return std::make_unique<Instance>(world_, redis_, options_, load_.lost_replies, renewed);
  }
  std::int64_t total_calls() const {
    std::int64_t sum = calls_of_dead_;
    for (const auto& each : instances_) sum += each->wire.calls;
    return sum;
  }

  void count_leases(const Instance& instance) {
    result_.fetches += static_cast<std::int64_t>(instance.leases.stats().fetches.load());
    result_.returns += static_cast<std::int64_t>(instance.leases.stats().returns.load());
    result_.lent += static_cast<std::int64_t>(instance.pool.stats().granted.load());
    result_.lapsed += static_cast<std::int64_t>(instance.pool.stats().lapsed.load());
  }

  void next_arrival() {
    std::exponential_distribution<double> gap(load_.per_second / 1000);
    world_.at(world_.clock.now_ms + gap(world_.random), [this] {
      request(any_instance_(world_.random), any_key_(world_.random));
      next_arrival();
    });
  }
  void sweep() {
    world_.at(world_.clock.now_ms + kSweepEveryMs, [this] {
      for (const auto& each : instances_) each->leases.sweep();
      sweep();
    });
  }
  void reshuffle() {
    any_instance_.shuffle(world_.random);
    world_.at(world_.clock.now_ms + static_cast<double>(load_.reshuffle_ms), [this] { reshuffle(); });
  }
  void lose() {
    for (const std::string& name : names_) redis_.forget(name);
    lost_ms_ = world_.clock.now_ms;
    world_.at(world_.clock.now_ms + static_cast<double>(load_.lose_every_ms), [this] { lose(); });
  }
  // Its calls may still be under way, so it is put aside rather than destroyed.
  void kill() {
    const std::size_t n = kills_++ % instances_.size();
    calls_of_dead_ += instances_[n]->wire.calls;
    instances_[n]->wire.calls = 0;
    dead_.push_back(std::exchange(instances_[n], fresh()));
    world_.at(world_.clock.now_ms + static_cast<double>(load_.kill_every_ms), [this] { kill(); });
  }

  void request(std::size_t instance, std::size_t key) {
    auto set = std::make_unique<ChargeSet>();
    set->charge[0].policy = &policy_;
    set->charge[0].key = names_[key];
    set->size = 1;
    ++result_.offered;
    ++windows_[{key, window_of_now()}].offered;
    limit::CounterStore& top = instances_[instance]->top;
    if (top.decide_now(*set)) return note(*set, key);
    ++result_.waited;
    boost::asio::co_spawn(world_.loop, wait(top, std::move(set), key), boost::asio::detached);
  }
  boost::asio::awaitable<void> wait(limit::CounterStore& top, std::unique_ptr<ChargeSet> set,
                                    std::size_t key) {
    co_await top.decide(*set);
    note(*set, key);
  }
  void note(const ChargeSet& set, std::size_t key) {
    if (set.store_error || !limit::conclude(set).allowed()) return;
    ++result_.allowed;
    // A request that waited was charged in the window of the store's moment.
    ++windows_[{key, static_cast<std::int64_t>(static_cast<double>(set.store_now_ms) / window())}].allowed;
    passed_[key].push_back(set.store_now_ms);
  }
  std::int64_t window_of_now() const { return static_cast<std::int64_t>(world_.clock.now_ms / window()); }

  void judge(std::int64_t could_pass) {
    const auto limit = static_cast<double>(policy_.terms.limit);
    const bool fixed = policy_.terms.algorithm == limit::AlgorithmKind::fixed_window;
    double most = 0;
    double missed = 0;
    double possible = 0;
    for (const auto& [at, count] : windows_) {
      most = std::max(most, static_cast<double>(count.allowed));
      const double could = std::min(limit, static_cast<double>(count.offered));
      possible += could;
      missed += std::max(0.0, could - static_cast<double>(count.allowed));
    }
    if (!fixed) most = is_bucket() ? limit + overdraft() : busiest();
    result_.over_percent = std::max(0.0, (most - limit) / limit * 100);
    if (fixed) {
      result_.under_percent = possible > 0 ? missed / possible * 100 : 0;
    } else if (could_pass > 0) {
      result_.under_percent =
          100 - 100 * static_cast<double>(result_.allowed) / static_cast<double>(could_pass);
    }
  }
  bool is_bucket() const {
    return policy_.terms.algorithm == limit::AlgorithmKind::token_bucket ||
           policy_.terms.algorithm == limit::AlgorithmKind::gcra;
  }
  // How far an exact bucket would have gone below nothing.
  double overdraft() {
    const auto burst = static_cast<double>(policy_.terms.burst);
    const double per_ms = static_cast<double>(policy_.terms.limit) / window();
    double lowest = 0;
    for (auto& [key, times] : passed_) {
      std::ranges::sort(times);
      double level = burst;
      for (std::size_t n = 0; n < times.size(); ++n) {
        const double passed_ms = n == 0 ? 0 : static_cast<double>(times[n] - times[n - 1]);
        level = std::min(burst, level + passed_ms * per_ms) - 1;
        lowest = std::min(lowest, level);
      }
    }
    return -lowest;
  }
  double busiest() {
    std::int64_t most = 0;
    for (auto& [key, times] : passed_) {
      std::ranges::sort(times);
      std::size_t first = 0;
      for (std::size_t n = 0; n < times.size(); ++n) {
        while (times[n] - times[first] >= policy_.terms.window_ms) ++first;
        most = std::max(most, static_cast<std::int64_t>(n - first + 1));
      }
    }
    return static_cast<double>(most);
  }

  limit::Policy policy_;
  store::LeaseOptions options_;
  Load load_;
  World world_;
  store::MemoryStore redis_;
  Zipf any_key_;
  Zipf any_instance_;
  double begin_ms_ = 0;
  double lost_ms_ = 0;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<Instance>> dead_;
  std::size_t kills_ = 0;
  std::int64_t calls_of_dead_ = 0;
  std::vector<std::string> names_;
  std::map<std::pair<std::size_t, std::int64_t>, Count> windows_;
  std::map<std::size_t, std::vector<std::int64_t>> passed_;
  Outcome result_;
};

}  // namespace

Outcome simulate(const limit::Policy& policy, const store::LeaseOptions& options, const Load& load,
                 std::int64_t could_pass) {
  Fleet fleet(policy, options, load);
  return fleet.run(could_pass);
}

}  // namespace weir::bench
