// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>

#include "app/simulate/report.hpp"
#include "telemetry/json_line.hpp"

namespace weir::app {
namespace {

constexpr std::size_t kNameWidth = 34;

// Control characters and anything else that a terminal would act on: names come from clients.
std::string printable_name(std::string_view name) {
  std::string safe;
  telemetry::append_json_text(safe, name);
  if (safe.size() >= kNameWidth) safe = safe.substr(0, kNameWidth - 4) + "...";
  return safe;
}

void pad_left(std::string& out, const std::string& text, std::size_t width) {
  out.append(text.size() < width ? width - text.size() : 1, ' ');
  out += text;
}

void pad_right(std::string& out, const std::string& text, std::size_t width) {
  out += text;
  out.append(text.size() < width ? width - text.size() : 1, ' ');
}

void add_pair(std::string& out, const std::string& name, std::uint64_t before, std::uint64_t after) {
  out += "  ";
  pad_right(out, name, 26);
  pad_left(out, count_text(before), 18);
  pad_left(out, count_text(after), 18);
  out += '\n';
}

void add_summary(std::string& out, const Comparison& found) {
  const Tally& all = found.all();
  out += "                              quotas in force        new quotas\n";
  add_pair(out, "allowed", all.requests - all.refused[in_force], all.requests - all.refused[renewed]);
  add_pair(out, "refused", all.refused[in_force], all.refused[renewed]);
  for (std::size_t n = 0; n < found.layers().size(); ++n) {
    const std::uint64_t before = found.refused_by(in_force)[n], after = found.refused_by(renewed)[n];
    if (before + after != 0) add_pair(out, "  by " + found.layers()[n], before, after);
  }
  for (std::size_t n = 0; n < found.layers().size(); ++n) {
    const std::uint64_t before = found.shadow_refused_by(in_force)[n];
    const std::uint64_t after = found.shadow_refused_by(renewed)[n];
    if (before + after != 0) add_pair(out, "  shadow: " + found.layers()[n], before, after);
  }
  if (found.delayed(in_force) + found.delayed(renewed) != 0)
    add_pair(out, "held back, then allowed", found.delayed(in_force), found.delayed(renewed));
  out += "\nNewly refused " + count_text(all.newly_refused) + " (" +
         share_text(all.newly_refused, all.requests) + ") of " + count_text(found.callers().newly_refused()) +
         " caller(s), newly allowed " + count_text(all.newly_allowed) +
         ".\nThe gateway that wrote the log refused " + count_text(found.logged_refusals()) + ".\n";
}

void add_table(std::string& out, const char* title, const TallyTable& table, const Comparison& found) {
  const auto rows = table.top(kTextRows);
  const bool any = std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return row.second.refused[in_force] + row.second.refused[renewed] != 0;
  });
  if (!any) return;
  out += '\n';
  pad_right(out, title, kNameWidth + 2);
  out += "  requests  ref. now  ref. new     newly  by            first .. last refusal\n";
  for (const auto& [name, tally] : rows) {
    if (tally.refused[in_force] + tally.refused[renewed] == 0) continue;
    out += "  ";
    pad_right(out, printable_name(name), kNameWidth);
    pad_left(out, count_text(tally.requests), 10);
    pad_left(out, count_text(tally.refused[in_force]), 10);
    pad_left(out, count_text(tally.refused[renewed]), 10);
    pad_left(out, count_text(tally.newly_refused), 10);
    out += "  ";
    pad_right(out, std::string(main_layer(tally, found)), 14);
    if (tally.first_ms != 0) out += time_text(tally.first_ms) + " .. " + time_text(tally.last_ms).substr(11);
    out += '\n';
  }
  if (table.dropped() == 0) return;
  out += "  and " + count_text(table.dropped()) +
         " more that were no longer kept apart: " + count_text(table.others().requests) + " requests, " +
         count_text(table.others().newly_refused) + " newly refused\n";
}

}  // namespace

std::string time_text(std::int64_t wall_ms) {
  std::string text;
  telemetry::append_time(text, wall_ms);
  text[10] = ' ';
  return text.substr(0, 19) + "Z";
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

std::string share_text(std::uint64_t part, std::uint64_t of) {
  if (part == 0 || of == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(of);
  if (percent < 0.1) return "<0.1 %";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", percent);
  return text.data();
}

std::string length_text(std::int64_t ms) {
  const std::int64_t seconds = (ms + 999) / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172800)
    return std::to_string(seconds / 3600) + " h " + std::to_string(seconds / 60 % 60) + " min";
  return std::to_string(seconds / 86400) + " d " + std::to_string(seconds / 3600 % 24) + " h";
}

std::string_view main_layer(const Tally& tally, const Comparison& comparison) {
  const auto most = std::max_element(tally.by_layer.begin(), tally.by_layer.end());
  if (most == tally.by_layer.end() || *most == 0) return {};
  return comparison.layers()[static_cast<std::size_t>(most - tally.by_layer.begin())];
}

std::string to_text(const Report& report) {
  const Comparison& found = report.comparison;
  std::string out = count_text(found.all().requests) + " requests";
  if (found.all().requests != 0) {
    out += ", " + time_text(found.start_ms()) + " to " + time_text(found.end_ms()) + " (" +
           length_text(found.end_ms() - found.start_ms()) + ")";
  }
  out += "\nin force: " + report.quotas_in_force + "\nnew:      " + report.quotas_renewed + "\n\n";
  add_summary(out, found);
  add_table(out, "callers", found.callers(), found);
  add_table(out, "users", found.users(), found);
  add_table(out, "APIs", found.apis(), found);
  if (report.counts.unreadable != 0) {
    out += "\n" + count_text(report.counts.unreadable) + " line(s) could not be read";
    for (const auto& one : report.counts.shown) {
      out += "\n  " + one.file + ":" + std::to_string(one.line) + ": " + one.why;
    }
    out += '\n';
  }
  for (const std::string& note : report.notes) out += "note: " + note + '\n';
  return out;
}

}  // namespace weir::app
