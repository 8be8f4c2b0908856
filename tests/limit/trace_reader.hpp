// SPDX-License-Identifier: Apache-2.0
// Runs the oracle (tests/support/reference.py) as a process and reads its trace line by line.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "weir/limit/algorithm.hpp"

namespace weir::limit {

struct Step {
  std::int64_t key = 0;
  std::string op;
  Terms terms;
  Request request;
  std::int64_t charged_at = 0;
  std::int64_t delta = 0;
  std::int64_t back = 0;
  Verdict want;
  Debt want_debt;  // op evict
  std::string line;
};

class TraceReader {
 public:
  TraceReader(const std::string& algorithm, const std::string& seed, int steps) {
    const std::string command = "python3 " WEIR_SOURCE_DIR
                                "/tests/support/reference.py trace --evict --algorithm " +
                                algorithm + " --seed " + seed + " --steps " + std::to_string(steps);
    pipe_ = popen(command.c_str(), "r");
    if (pipe_ == nullptr) throw std::runtime_error("python3 cannot be started");
  }
  ~TraceReader() { pclose(pipe_); }
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  bool next(Step& step) {
    if (std::fgets(buffer_, sizeof buffer_, pipe_) == nullptr) return false;
    step.line = buffer_;
    read(boost::json::parse(step.line).as_object(), step);
    return true;
  }

 private:
  static std::int64_t number(const boost::json::object& from, std::string_view name) {
    return from.at(name).as_int64();
  }

  static void read(const boost::json::object& from, Step& step) {
    step.key = number(from, "key");
    step.op = from.at("op").as_string().c_str();
    step.terms.algorithm = AlgorithmKind::fixed_window;
    step.terms.limit = number(from, "limit");
    step.terms.window_ms = number(from, "window_ms");
    step.terms.burst = number(from, "burst");
    step.terms.max_wait_ms = number(from, "max_wait_ms");
    step.terms.cells = number(from, "cells");
    step.terms.calendar = number(from, "calendar") != 0;
    step.request.now_ms = number(from, "now");
    step.request.cost = number(from, "cost");
    step.request.offset_ms = number(from, "offset");
    for (std::size_t n = 0; n < 4; ++n) step.request.bounds.at[n] = from.at("bounds").at(n).as_int64();
    step.request.owner = static_cast<std::uint64_t>(number(from, "owner"));
    step.charged_at = number(from, "charged_at");
    step.delta = number(from, "delta");
    step.back = number(from, "back");
    const boost::json::object& want = from.at("want").as_object();
    step.want = {number(want, "within") != 0, number(want, "limit"), number(want, "remaining"),
                 number(want, "retry"),       number(want, "reset"), number(want, "wait")};
    step.want_debt = {};
    if (step.op == "evict") step.want_debt = {number(want, "used"), number(want, "until")};
  }

  std::FILE* pipe_;
  char buffer_[4096];
};

}  // namespace weir::limit
