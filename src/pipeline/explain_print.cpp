// SPDX-License-Identifier: Apache-2.0
// The two faces of an Explanation.
#include "pipeline/explain.hpp"
#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

void add_member(std::string& out, std::string_view name, std::string_view value, char before = ',') {
  out += before;
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

void add_member(std::string& out, std::string_view name, std::int64_t value) {
  out += ',';
  append_json_string(out, name);
  out += ':';
  append(out, value);
}

void add_usage(std::string& out, const limit::Charge& charge) {
  const limit::Verdict& verdict = charge.verdict;
  add_member(out, "remaining", verdict.remaining);
  add_member(out, "used", limit::capacity_of(charge.policy->terms) - verdict.remaining);
  add_member(out, "would_pass", verdict.within_limit ? "yes" : "no");
  add_member(out, "retry_after_ms", verdict.retry_after_ms);
  add_member(out, "reset_ms", verdict.reset_ms);
}

void add_layer(std::string& out, const LayerExplanation& line, const Explanation& explanation, bool peeked) {
  add_member(out, "layer", line.layer, '{');
  add_member(out, "state", line.state);
  if (!line.key.empty()) add_member(out, "key", line.key);
  if (!line.source.empty()) {
    add_member(out, "algorithm", line.algorithm);
    add_member(out, "limit", line.limit);
    add_member(out, "window_ms", line.window_ms);
    add_member(out, "burst", line.burst);
    add_member(out, "source", line.source);
  }
  if (peeked && line.charge >= 0) add_usage(out, explanation.charges.charge[line.charge]);
  out += '}';
}

void pad(std::string& out, std::string_view text, std::size_t width) {
  out += text;
  out.append(text.size() < width ? width - text.size() : 1, ' ');
}

void add_row(std::string& out, const LayerExplanation& line, const Explanation& explanation, bool peeked) {
  out += "  ";
  pad(out, line.layer, 12);
  pad(out, line.state, 15);
  if (!line.source.empty() && line.limit > 0) {
    pad(out, std::to_string(line.limit) + " per " + std::to_string(line.window_ms) + " ms", 24);
    pad(out, line.algorithm, 16);
  }
  if (peeked && line.charge >= 0) {
    const auto& verdict = explanation.charges.charge[line.charge].verdict;
    pad(out, "remaining " + std::to_string(verdict.remaining), 16);
    if (!verdict.within_limit)
      out += "REFUSES, retry after " + std::to_string(verdict.retry_after_ms) + " ms  ";
  }
  out += line.source;
  out += '\n';
  if (!line.key.empty()) out += "              key " + line.key + "\n";
}

}  // namespace

std::string to_json(const Explanation& explanation, bool peeked) {
  std::string out;
  add_member(out, "method", explanation.request.method, '{');
  add_member(out, "target", explanation.request.target);
  add_member(out, "client", explanation.client);
  add_member(out, "normal_path", explanation.normal_path);
  add_member(out, "credential", explanation.credential);
  if (!explanation.refusal.empty()) {
    add_member(out, "refused", explanation.refusal);
    add_member(out, "status", explanation.refusal_status);
    return out + "}\n";
  }
  add_member(out, "route", explanation.route);
  add_member(out, "upstream", explanation.upstream);
  add_member(out, "lane", explanation.exempt ? "exempt" : "ordinary");
  add_member(out, "cost", explanation.cost);
  if (!explanation.blocked_layer.empty()) add_member(out, "blocked_by", explanation.blocked_layer);
  out += ",\"identity\":{";
  bool first = true;
  for (const auto& [name, value] : explanation.identity) {
    if (!first) out += ',';
    first = false;
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
  }
  out += "},\"layers\":[";
  first = true;
  for (const LayerExplanation& line : explanation.layers) {
    if (!first) out += ',';
    first = false;
    add_layer(out, line, explanation, peeked);
  }
  return out + "]}\n";
}

std::string to_text(const Explanation& explanation, bool peeked) {
  std::string out = explanation.request.method + " " + explanation.request.target + "\n";
  out += "client       " + explanation.client + "\n";
  out += "credential   " + explanation.credential + "\n";
  if (!explanation.refusal.empty()) {
    return out + "refused      " + std::to_string(explanation.refusal_status) + ": " + explanation.refusal +
           "\n";
  }
  out += "normal path  " + explanation.normal_path + "\n";
  out += "route        " +
         (explanation.route.empty() ? "none: 404" : explanation.route + " -> " + explanation.upstream);
  out += explanation.exempt ? "\nlane         exempt\n" : "\nlane         ordinary\n";
  out += "cost         " + std::to_string(explanation.cost) + "\nidentity\n";
  for (const auto& [name, value] : explanation.identity) {
    out += "  ";
    pad(out, name, 12);
    out += value + "\n";
  }
  out += "layers, in the order they are judged\n";
  for (const LayerExplanation& line : explanation.layers) add_row(out, line, explanation, peeked);
  if (!explanation.blocked_layer.empty()) out += "blocked by   " + explanation.blocked_layer + ": 403\n";
  return out;
}

}  // namespace weir::pipeline
