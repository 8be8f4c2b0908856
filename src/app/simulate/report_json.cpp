// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>

#include "app/simulate/report.hpp"
#include "telemetry/json_line.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

std::string instant(std::int64_t wall_ms) {
  std::string text;
  telemetry::append_time(text, wall_ms);
  return text;
}

json::object tally_of(const Tally& tally, const Comparison& found) {
  json::object by_layer;
  for (std::size_t n = 0; n < tally.by_layer.size(); ++n) {
    if (tally.by_layer[n] != 0) by_layer[found.layers()[n]] = tally.by_layer[n];
  }
  json::object out{{"requests", tally.requests},           {"refused_in_force", tally.refused[in_force]},
                   {"refused", tally.refused[renewed]},    {"newly_refused", tally.newly_refused},
                   {"newly_allowed", tally.newly_allowed}, {"by_layer", std::move(by_layer)}};
  if (tally.first_ms != 0) {
    out["first_refusal"] = instant(tally.first_ms);
    out["last_refusal"] = instant(tally.last_ms);
  }
  return out;
}

json::object table_of(const TallyTable& table, const Comparison& found) {
  json::array rows;
  for (const auto& [name, tally] : table.top(kJsonRows)) {
    json::object row = tally_of(tally, found);
    row["name"] = name;
    rows.push_back(std::move(row));
  }
  return {{"rows", std::move(rows)},
          {"names", table.size()},
          {"dropped_names", table.dropped()},
          {"dropped", tally_of(table.others(), found)}};
}

json::array layers_of(const Comparison& found) {
  json::array out;
  for (std::size_t n = 0; n < found.layers().size(); ++n) {
    out.push_back(json::object{{"layer", found.layers()[n]},
                               {"refused_in_force", found.refused_by(in_force)[n]},
                               {"refused", found.refused_by(renewed)[n]},
                               {"shadow_refused_in_force", found.shadow_refused_by(in_force)[n]},
                               {"shadow_refused", found.shadow_refused_by(renewed)[n]}});
  }
  return out;
}

json::object log_of(const Report& report) {
  const LogCounts& counts = report.counts;
  json::array shown;
  for (const auto& one : counts.shown) {
    shown.push_back(json::object{{"file", one.file}, {"line", one.line}, {"why", one.why}});
  }
  return {{"files", json::value_from(report.logs)},
          {"lines", counts.lines},
          {"requests", counts.requests},
          {"not_judged", counts.not_judged},
          {"denial_lines", counts.denials},
          {"unreadable", counts.unreadable},
          {"first_unreadable", std::move(shown)},
          {"sampled_lines", counts.sampled_lines},
          {"sampled_requests", counts.sampled_requests},
          {"out_of_order", counts.late},
          {"refused", report.comparison.logged_refusals()}};
}

}  // namespace

std::string to_json(const Report& report) {
  const Comparison& found = report.comparison;
  json::array intervals;
  for (const auto& one : found.intervals()) {
    intervals.push_back(json::array{one.requests, one.refused[in_force], one.refused[renewed]});
  }
  json::object out{{"quotas_in_force", report.quotas_in_force},
                   {"quotas", report.quotas_renewed},
                   {"log", log_of(report)},
                   {"all", tally_of(found.all(), found)},
                   {"layers", layers_of(found)},
                   {"delayed_in_force", found.delayed(in_force)},
                   {"delayed", found.delayed(renewed)},
                   {"callers", table_of(found.callers(), found)},
                   {"users", table_of(found.users(), found)},
                   {"apis", table_of(found.apis(), found)},
                   {"interval_ms", found.interval_ms()},
                   {"intervals", std::move(intervals)},
                   {"notes", json::value_from(report.notes)}};
  if (found.all().requests != 0) {
    out["from"] = instant(found.start_ms());
    out["to"] = instant(found.end_ms());
  }
  return json::serialize(out) + "\n";
}

}  // namespace weir::app
