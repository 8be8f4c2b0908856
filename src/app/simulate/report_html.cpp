// SPDX-License-Identifier: Apache-2.0
// The page is one file without a script: charts are SVG, and everything that came from a client is escaped.
#include <algorithm>
#include <array>
#include <cstdio>

#include "app/simulate/report.hpp"
#include "telemetry/json_line.hpp"

namespace weir::app {
namespace {

constexpr int kWidth = 860, kHeight = 220, kLeft = 64, kBottom = 24, kTop = 12;

constexpr std::string_view kHead =
    R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>weir simulate</title><style>
:root{color-scheme:light dark;--ink:#1c2733;--dim:#5b6875;--line:#d5dbe1;--back:#fff;--now:#8a97a5;--new:#c2410c;--all:#dbe7f3}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--dim:#9aa7b4;--line:#37424e;--back:#14191f;--now:#8593a1;--new:#fb923c;--all:#243646}}
body{margin:0 auto;max-width:900px;padding:20px;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back)}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 6px}p{margin:4px 0}.dim{color:var(--dim)}
*{box-sizing:border-box}.cards{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}.card{border:1px solid var(--line);border-radius:8px;padding:10px 14px;flex:1 1 140px}
.card b{display:block;font-size:22px}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th{white-space:normal}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:130px}th{font-weight:600;color:var(--dim)}
svg{width:100%;min-width:600px;height:auto;display:block}svg text{fill:var(--dim);font-size:12px}
.key{display:inline-block;width:12px;height:12px;border-radius:2px;vertical-align:-1px;margin:0 4px 0 12px}
code{overflow-wrap:anywhere}
</style></head><body>
)";

std::string escaped(std::string_view text) {
  std::string plain;
  telemetry::append_json_text(plain, text);  // control characters become visible
  std::string out;
  for (const char c : plain) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

void add_card(std::string& out, const std::string& value, const std::string& label) {
  out += "<div class=\"card\"><b>" + value + "</b><span class=\"dim\">" + label + "</span></div>";
}

void add_summary(std::string& out, const Report& report) {
  const Comparison& found = report.comparison;
  const Tally& all = found.all();
  out += "<h1>What the new quotas would do</h1><p class=\"dim\"><code>" + escaped(report.quotas_renewed) +
         "</code> beside <code>" + escaped(report.quotas_in_force) + "</code></p>";
  if (all.requests != 0) {
    out += "<p class=\"dim\">" + time_text(found.start_ms()) + " to " + time_text(found.end_ms()) + ", " +
           length_text(found.end_ms() - found.start_ms()) + "</p>";
  }
  out += "<div class=\"cards\">";
  add_card(out, count_text(all.requests), "requests");
  add_card(out, count_text(all.refused[in_force]),
           "refused in force (" + escaped(share_text(all.refused[in_force], all.requests)) + ")");
  add_card(out, count_text(all.refused[renewed]),
           "refused by the new (" + escaped(share_text(all.refused[renewed], all.requests)) + ")");
  add_card(out, count_text(all.newly_refused),
           "newly refused, of " + count_text(found.callers().newly_refused()) + " caller(s)");
  add_card(out, count_text(all.newly_allowed), "newly allowed");
  out += "</div>";
}

struct Scale {
  double per_interval;
  double per_request;
  double x(std::size_t interval) const { return kLeft + per_interval * static_cast<double>(interval); }
  double y(std::uint64_t count) const { return kHeight - kBottom - per_request * static_cast<double>(count); }
};

// A stepped line through the counts of one kind.
template <class Count>
std::string steps(const std::vector<Comparison::Interval>& intervals, const Scale& scale, Count count) {
  std::string path;
  for (std::size_t n = 0; n < intervals.size(); ++n) {
    const std::string y = number(scale.y(count(intervals[n])));
    path += (n == 0 ? "M" : "L") + number(scale.x(n)) + " " + y + "L" + number(scale.x(n + 1)) + " " + y;
  }
  return path;
}

void add_axis(std::string& out, const Scale& scale, std::uint64_t most) {
  for (const std::uint64_t value : {std::uint64_t{0}, most / 2, most}) {
    const std::string y = number(scale.y(value));
    out += "<path d=\"M" + std::to_string(kLeft) + " " + y + "H" + std::to_string(kWidth) +
           "\" stroke=\"var(--line)\" fill=\"none\"/><text x=\"" + std::to_string(kLeft - 8) + "\" y=\"" +
           number(scale.y(value) + 4) + "\" text-anchor=\"end\">" + count_text(value) + "</text>";
  }
}

void add_timeline(std::string& out, const Comparison& found) {
  const auto& intervals = found.intervals();
  if (intervals.empty()) return;
  std::uint64_t most = 2;
  for (const auto& one : intervals) most = std::max(most, one.requests);
  const Scale scale{static_cast<double>(kWidth - kLeft) / static_cast<double>(intervals.size()),
                    static_cast<double>(kHeight - kBottom - kTop) / static_cast<double>(most)};
  out += "<h2>Over time</h2><p class=\"dim\">per " + length_text(found.interval_ms()) +
         "<span class=\"key\" style=\"background:var(--all)\"></span>requests"
         "<span class=\"key\" style=\"background:var(--now)\"></span>refused in force"
         "<span class=\"key\" style=\"background:var(--new)\"></span>refused by the new</p>"
         "<div class=\"scroll\"><svg role=\"img\" aria-label=\"requests and refusals over time\" viewBox=\"0 "
         "0 " +
         std::to_string(kWidth) + " " + std::to_string(kHeight) + "\">";
  add_axis(out, scale, most);
  const std::string base = number(scale.y(0));
  out += "<path fill=\"var(--all)\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.requests; }) + "V" + base + "H" +
         std::to_string(kLeft) + "Z\"/>";
  out += "<path fill=\"none\" stroke=\"var(--now)\" stroke-width=\"2\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.refused[in_force]; }) + "\"/>";
  out += "<path fill=\"none\" stroke=\"var(--new)\" stroke-width=\"2\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.refused[renewed]; }) + "\"/>";
  out += "<text x=\"" + std::to_string(kLeft) + "\" y=\"" + std::to_string(kHeight - 6) + "\">" +
         time_text(found.start_ms()) + "</text><text text-anchor=\"end\" x=\"" + std::to_string(kWidth) +
         "\" y=\"" + std::to_string(kHeight - 6) + "\">" + time_text(found.end_ms()) + "</text></svg></div>";
}

void add_bar(std::string& out, int y, std::uint64_t value, std::uint64_t most, const char* colour) {
  constexpr int kBarLeft = 150, kBarRoom = kWidth - kBarLeft - 90;
  const double width = static_cast<double>(kBarRoom) * static_cast<double>(value) / static_cast<double>(most);
  out += "<rect x=\"" + std::to_string(kBarLeft) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
         number(width) + "\" height=\"11\" rx=\"2\" fill=\"var(" + colour + ")\"/><text x=\"" +
         number(kBarLeft + width + 6) + "\" y=\"" + std::to_string(y + 10) + "\">" + count_text(value) +
         "</text>";
}

void add_layers(std::string& out, const Comparison& found) {
  std::vector<std::size_t> shown;
  std::uint64_t most = 1;
  for (std::size_t n = 0; n < found.layers().size(); ++n) {
    const std::uint64_t larger = std::max(found.refused_by(in_force)[n], found.refused_by(renewed)[n]);
    if (larger != 0) shown.push_back(n);
    most = std::max(most, larger);
  }
  if (shown.empty()) return;
  out +=
      "<h2>By layer</h2><div class=\"scroll\"><svg role=\"img\" aria-label=\"refusals by layer\" viewBox=\"0 "
      "0 " +
      std::to_string(kWidth) + " " + std::to_string(shown.size() * 34) + "\">";
  int y = 2;
  for (const std::size_t n : shown) {
    out += "<text x=\"0\" y=\"" + std::to_string(y + 17) + "\">" + escaped(found.layers()[n]) + "</text>";
    add_bar(out, y, found.refused_by(in_force)[n], most, "--now");
    add_bar(out, y + 14, found.refused_by(renewed)[n], most, "--new");
    y += 34;
  }
  out += "</svg></div>";
}

// Without the date where the whole log is of one day.
std::string span_of_refusals(const Tally& tally, const Comparison& found) {
  if (tally.first_ms == 0) return {};
  const std::string first = time_text(tally.first_ms), last = time_text(tally.last_ms);
  const std::string begin = time_text(found.start_ms()), end = time_text(found.end_ms());
  const std::size_t date = begin.find(' ') + 1;
  const bool one_day = begin.substr(0, date) == end.substr(0, date);
  return one_day ? first.substr(date) + " .. " + last.substr(date) : first + " .. " + last;
}

void add_table(std::string& out, const char* title, const TallyTable& table, const Comparison& found) {
  std::string rows;
  for (const auto& [name, tally] : table.top(kPageRows)) {
    if (tally.refused[in_force] + tally.refused[renewed] == 0) continue;
    rows += "<tr><td>" + escaped(name) + "</td><td>" + count_text(tally.requests) + "</td><td>" +
            count_text(tally.refused[in_force]) + "</td><td>" + count_text(tally.refused[renewed]) +
            "</td><td>" + count_text(tally.newly_refused) + "</td><td>" + escaped(main_layer(tally, found)) +
            "</td><td>" + span_of_refusals(tally, found) + "</td></tr>";
  }
  if (rows.empty()) return;
  out += std::string("<h2>") + title +
         "</h2><div class=\"scroll\"><table><thead><tr><th>name</th><th>requests</th><th>refused in "
         "force</th><th>refused by the new</th><th>newly refused</th><th>mostly by</th><th>first .. last "
         "refusal</th></tr></thead><tbody>" +
         rows + "</tbody></table></div>";
  if (table.dropped() == 0) return;
  out += "<p class=\"dim\">" + count_text(table.dropped()) +
         " more names were no longer kept apart: " + count_text(table.others().requests) + " requests, " +
         count_text(table.others().newly_refused) + " newly refused.</p>";
}

void add_foot(std::string& out, const Report& report) {
  out += "<h2>The log</h2><p class=\"dim\">";
  for (const std::string& name : report.logs) out += "<code>" + escaped(name) + "</code> ";
  out += count_text(report.counts.lines) + " lines; the gateway that wrote them refused " +
         count_text(report.comparison.logged_refusals()) + "; " + count_text(report.counts.unreadable) +
         " could not be read</p>";
  for (const auto& one : report.counts.shown) {
    out += "<p class=\"dim\"><code>" + escaped(one.file) + ":" + std::to_string(one.line) + "</code> " +
           escaped(one.why) + "</p>";
  }
  for (const std::string& note : report.notes) out += "<p class=\"dim\">" + escaped(note) + "</p>";
  out += "</body></html>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const Comparison& found = report.comparison;
  std::string out(kHead);
  add_summary(out, report);
  add_timeline(out, found);
  add_layers(out, found);
  add_table(out, "Callers", found.callers(), found);
  add_table(out, "Users", found.users(), found);
  add_table(out, "APIs", found.apis(), found);
  add_foot(out, report);
  return out;
}

}  // namespace weir::app
