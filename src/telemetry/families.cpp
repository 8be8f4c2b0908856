// SPDX-License-Identifier: Apache-2.0
#include "telemetry/families.hpp"

namespace weir::telemetry {
namespace {

// Divided by, not multiplied with the inverse: 100 us must print as 0.0001.
constexpr double kPerSecond = 1e6;
constexpr double kPerWhole = 100;

HistogramValue sum_of(std::span<const Histogram* const> parts, double per_unit) {
  HistogramValue value;
  const auto bounds = parts.front()->bounds();
  value.counts.resize(bounds.size() + 1);
  for (const std::int64_t bound : bounds) value.bounds.push_back(static_cast<double>(bound) / per_unit);
  for (const Histogram* part : parts) {
    for (std::size_t n = 0; n <= bounds.size(); ++n) value.counts[n] += part->count(n);
    value.sum += static_cast<double>(part->sum()) / per_unit;
  }
  return value;
}

SampleFamily family_of(std::string name, std::string help, std::span<const Histogram* const> parts,
                       double per_unit) {
  SampleFamily family{std::move(name), std::move(help), SampleKind::histogram, {}};
  if (!parts.empty()) family.samples.push_back({{}, 0, sum_of(parts, per_unit)});
  return family;
}

// Builds families from sums over all workers.
class Summary {
 public:
  Summary(const MetricNames& names, const std::vector<const WorkerCounters*>& workers)
      : names_(names), workers_(workers) {}

  std::vector<SampleFamily> take() {
    layers();
    callers_and_apis();
    requests();
    upstreams();
    workers();
    return std::move(out_);
  }

 private:
  template <class Pick>
  double sum(Pick pick) const {
    std::uint64_t total = 0;
    for (const WorkerCounters* worker : workers_) total += pick(*worker).value();
    return static_cast<double>(total);
  }

  template <class Pick>
  HistogramValue histogram(double per_unit, Pick pick) const {
    std::vector<const Histogram*> parts;
    for (const WorkerCounters* worker : workers_) parts.push_back(&pick(*worker));
    return sum_of(parts, per_unit);
  }

  SampleFamily& family(std::string name, std::string help, SampleKind kind) {
    return out_.emplace_back(SampleFamily{std::move(name), std::move(help), kind, {}});
  }
  static void add(SampleFamily& to, Labels labels, double value) {
    to.samples.push_back({std::move(labels), value, {}});
  }

  // The names of a set with, last, `other`.
  static std::vector<std::string> with_other(const NameSet& set) {
    std::vector<std::string> all(set.names().begin(), set.names().end());
    all.emplace_back("other");
    return all;
  }
  static std::size_t slot(const NameSet& set, std::size_t n) {
    return n < set.names().size() ? n : set.cap();
  }

  void layers() {
    auto& decisions =
        family("weir_layer_decisions_total",
               "Verdicts of each layer; denied is enforced, shadow_denied is not, warned passed its "
               "warn_at and was allowed",
               SampleKind::counter);
    const auto layer_names = names_.layers.names();
    for (std::size_t n = 0; n < layer_names.size(); ++n) {
      for (std::size_t o = 0; o < kLayerOutcomes.size(); ++o) {
        add(decisions, {{"layer", layer_names[n]}, {"outcome", std::string(kLayerOutcomes[o])}},
            sum([n, o](const auto& w) -> const Counter& { return w.layers[n].decisions[o]; }));
      }
    }
    auto& answers =
        family("weir_layer_answers_total", "Where each layer's verdict came from", SampleKind::counter);
    for (std::size_t n = 0; n < layer_names.size(); ++n) {
      for (std::size_t a = 0; a < kAnswers.size(); ++a) {
        add(answers, {{"layer", layer_names[n]}, {"answered", std::string(kAnswers[a])}},
            sum([n, a](const auto& w) -> const Counter& { return w.layers[n].answers[a]; }));
      }
    }
    auto& denials =
        family("weir_denials_total", "Refused requests by the first layer that refused", SampleKind::counter);
    for (std::size_t n = 0; n < layer_names.size(); ++n) {
      add(denials, {{"layer", layer_names[n]}},
          sum([n](const auto& w) -> const Counter& { return w.layers[n].final_hits; }));
    }
    auto& switched =
        family("weir_window_switch_requests_total",
               "Requests charged within 5 s of the start of a fixed window", SampleKind::counter);
    for (std::size_t n = 0; n < layer_names.size(); ++n) {
      add(switched, {{"layer", layer_names[n]}},
          sum([n](const auto& w) -> const Counter& { return w.layers[n].charged_after_switch; }));
    }
    auto& fill = family("weir_layer_fill_ratio", "Used share of the limit that requests met, by layer",
                        SampleKind::histogram);
    for (std::size_t n = 0; n < layer_names.size(); ++n) {
      fill.samples.push_back(
          {{{"layer", layer_names[n]}}, 0, histogram(kPerWhole, [n](const auto& w) -> const Histogram& {
             return w.layers[n].fill;
           })});
    }
  }

  // `pick` gives the worker's pairs; series appear once they are not zero.
  template <class Pick>
  void allowed_denied(SampleFamily& to, const std::string& label, const NameSet& set, Pick pick) const {
    const auto all = with_other(set);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const std::size_t at = slot(set, n);
      const double allowed = sum([&](const auto& w) -> const Counter& { return pick(w)[at].allowed; });
      const double denied = sum([&](const auto& w) -> const Counter& { return pick(w)[at].denied; });
      if (allowed + denied == 0) continue;
      add(to, {{label, all[n]}, {"outcome", "allowed"}}, allowed);
      add(to, {{label, all[n]}, {"outcome", "denied"}}, denied);
    }
  }

  void callers_and_apis() {
    auto& callers = family("weir_caller_requests_total",
                           "Judged requests of callers with limits of their own; all others are other",
                           SampleKind::counter);
    allowed_denied(callers, "caller", names_.callers, [](const auto& w) -> const auto& { return w.callers; });
    auto& apis = family("weir_api_requests_total", "Judged requests by configured api; all others are other",
                        SampleKind::counter);
    allowed_denied(apis, "api", names_.apis, [](const auto& w) -> const auto& { return w.apis; });
  }

  template <std::size_t N, class Pick>
  void by_name(SampleFamily& to, const std::string& label, const std::array<std::string_view, N>& names,
               Pick pick) const {
    for (std::size_t n = 0; n < N; ++n) {
      add(to, {{label, std::string(names[n])}},
          sum([&](const auto& w) -> const Counter& { return pick(w)[n]; }));
    }
  }

  template <class Pick>
  void single(std::string name, std::string help, Pick pick) {
    add(family(std::move(name), std::move(help), SampleKind::counter), {}, sum(pick));
  }

  template <class Pick>
  void single_histogram(std::string name, std::string help, Pick pick) {
    family(std::move(name), std::move(help), SampleKind::histogram)
        .samples.push_back({{}, 0, histogram(kPerSecond, pick)});
  }

  void requests() {
    by_name(family("weir_requests_total", "Finished requests by how the limiter judged them",
                   SampleKind::counter),
            "outcome", kRequestOutcomes, [](const auto& w) -> const auto& { return w.outcomes; });
    by_name(
        family("weir_responses_total", "Finished requests by class of the status sent", SampleKind::counter),
        "class", kStatusClasses, [](const auto& w) -> const auto& { return w.statuses; });
    by_name(family("weir_malformed_requests_total",
                   "Requests refused before they could be read, by class of status", SampleKind::counter),
            "class", kStatusClasses, [](const auto& w) -> const auto& { return w.malformed; });
    missing();
    auth_failures();
    single("weir_exempt_requests_total", "Requests through the exempt lane",
           [](const auto& w) -> const Counter& { return w.exempt; });
    single("weir_request_bytes_total", "Body octets received from clients",
           [](const auto& w) -> const Counter& { return w.request_bytes; });
    single("weir_response_bytes_total", "Body octets sent to clients",
           [](const auto& w) -> const Counter& { return w.response_bytes; });
    single_histogram("weir_request_duration_seconds",
                     "From the end of the request's head to its end, tunnels aside",
                     [](const auto& w) -> const Histogram& { return w.request_us; });
    single_histogram("weir_limiter_duration_seconds", "Time to judge a request, store calls included",
                     [](const auto& w) -> const Histogram& { return w.limiter_us; });
  }

  void auth_failures() {
    auto& to =
        family("weir_auth_failures_total",
               "Requests whose credential was missing or not good, by what was wrong", SampleKind::counter);
    by_name(to, "reason", kAuthFailures, [](const auto& w) -> const auto& { return w.auth_failures; });
  }

  void missing() {
    auto& to = family("weir_identity_missing_total",
                      "Requests that lacked a dimension, by the policy applied", SampleKind::counter);
    const auto all = with_other(names_.dimensions);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const std::size_t at = slot(names_.dimensions, n);
      for (std::size_t p = 0; p < kMissingPolicies.size(); ++p) {
        const double value = sum([at, p](const auto& w) -> const Counter& { return w.missing[at][p]; });
        if (value == 0) continue;
        add(to, {{"dimension", all[n]}, {"policy", std::string(kMissingPolicies[p])}}, value);
      }
    }
  }

  void upstreams() {
    auto& to = family("weir_upstream_requests_total",
                      "Requests sent to an endpoint by what came of them: class of status, or error",
                      SampleKind::counter);
    const auto all = with_other(names_.endpoints);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const std::size_t at = slot(names_.endpoints, n);
      const std::string cluster = all[n].substr(0, all[n].find(' '));
      const std::string endpoint =
          cluster.size() < all[n].size() ? all[n].substr(cluster.size() + 1) : "other";
      for (std::size_t o = 0; o < kUpstreamOutcomes.size(); ++o) {
        const double value = sum([at, o](const auto& w) -> const Counter& { return w.endpoints[at][o]; });
        if (value == 0) continue;
        add(to,
            {{"cluster", cluster}, {"endpoint", endpoint}, {"outcome", std::string(kUpstreamOutcomes[o])}},
            value);
      }
    }
    single_histogram("weir_upstream_duration_seconds",
                     "From the request's last octet sent to the response's head",
                     [](const auto& w) -> const Histogram& { return w.upstream_us; });
  }

  void workers() {
    auto& busy = family("weir_worker_busy_seconds_total",
                        "Processor time of each worker; its rate is the busy share", SampleKind::counter);
    for (std::size_t n = 0; n < workers_.size(); ++n) {
      add(busy, {{"worker", std::to_string(n)}},
          static_cast<double>(workers_[n]->busy_us.load(std::memory_order_relaxed)) / kPerSecond);
    }
    single_histogram("weir_worker_loop_lag_seconds", "How late timers of the workers' loops fired",
                     [](const auto& w) -> const Histogram& { return w.loop_lag_us; });
    std::int64_t held = 0;
    for (const WorkerCounters* worker : workers_) held += worker->held.load(std::memory_order_relaxed);
    out_.push_back(gauge_family("weir_requests_held", "Requests held back until permits are due",
                                static_cast<double>(held)));
  }

  const MetricNames& names_;
  const std::vector<const WorkerCounters*>& workers_;
  std::vector<SampleFamily> out_;
};

}  // namespace

std::vector<SampleFamily> worker_families(const MetricNames& names,
                                          const std::vector<const WorkerCounters*>& workers) {
  if (workers.empty()) return {};
  return Summary(names, workers).take();
}

SampleFamily gauge_family(std::string name, std::string help, double value) {
  return {std::move(name), std::move(help), SampleKind::gauge, {{{}, value, {}}}};
}

SampleFamily counter_family(std::string name, std::string help, double value) {
  return {std::move(name), std::move(help), SampleKind::counter, {{{}, value, {}}}};
}

SampleFamily histogram_family(std::string name, std::string help,
                              std::span<const Histogram* const> microseconds) {
  return family_of(std::move(name), std::move(help), microseconds, kPerSecond);
}

SampleFamily count_histogram_family(std::string name, std::string help,
                                    std::span<const Histogram* const> counts) {
  return family_of(std::move(name), std::move(help), counts, 1);
}

}  // namespace weir::telemetry
