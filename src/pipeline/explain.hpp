// SPDX-License-Identifier: Apache-2.0
// What would happen to a given request, layer by layer: key, limit, where it was written, current usage
// (OB-5). `weir explain` and GET /explain print it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/runtime.hpp"
#include "weir/http/message.hpp"
#include "weir/limit/decision.hpp"

namespace weir::pipeline {

// A request made up for explain: owns the texts that the head's views point into.
struct ProbeRequest {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string peer = "127.0.0.1";
};

// One layer that was looked at.
struct LayerExplanation {
  std::string layer;
  std::string key;    // counter key; empty where nothing is counted
  std::string state;  // "counted", "shadow", "unlimited", "blocked", "does not apply"
  std::string algorithm;
  std::string source;  // "quotas.yaml:12:9"
  std::int64_t limit = 0;
  std::int64_t window_ms = 0;
  std::int64_t burst = 0;
  int charge = -1;  // index into Explanation::charges, -1 where nothing is counted
};

// Everything but the usage, which the caller adds by peeking `charges` in the store (they belong together:
// the set's keys and policies live as long as this object and its Runtime).
struct Explanation {
  ProbeRequest request;
  std::string refusal;  // why it would not even be counted, "" if it would
  int refusal_status = 0;
  std::string normal_path;
  std::string route;
  std::string upstream;
  std::string client;
  std::string credential;  // what was proved, and what was wrong with what was not; never the credential
  bool exempt = false;
  std::int64_t cost = 1;
  std::vector<std::pair<std::string, std::string>> identity;  // dimension -> value, "(anonymous)", "(absent)"
  std::vector<LayerExplanation> layers;                       // in chain order
  std::string blocked_layer;
  limit::ChargeSet charges;
  std::deque<std::string> texts;  // what the set's identity views point into
};

// Never throws; a bad peer address counts as 127.0.0.1.
void explain(const Runtime& runtime, ProbeRequest request, std::int64_t wall_ms, Explanation& out);

// The same for who asks and for what as found elsewhere, in a log: no credential is looked at. The texts that
// `found` points into live as long as `out`. `cost` 0: what the configuration says.
void explain_found(const Runtime& runtime, std::string_view method, identity::Extraction found,
                   std::int64_t cost, std::int64_t wall_ms, Explanation& out);

// `peeked`: the verdicts in `charges` are real.
std::string to_json(const Explanation& explanation, bool peeked);
std::string to_text(const Explanation& explanation, bool peeked);

}  // namespace weir::pipeline
