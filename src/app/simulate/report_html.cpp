// SPDX-License-Identifier: Apache-2.0
// The page is one file without a script: charts are SVG, and everything that came from a client is escaped.
#include <algorithm>
#include <array>
#include <cstdio>

#include "app/simulate/report.hpp"
#include "telemetry/json_line.hpp"
#include "weir/base/append.hpp"

namespace weir::app {
namespace {

// Of the timeline's own coordinates: it is stretched to the room there is, and has no text in it.
constexpr int kWidth = 1000, kHeight = 200;

constexpr std::string_view kHead =
    R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>weir simulate</title><style>
:root{color-scheme:light dark;--ink:#1c2733;--dim:#5b6875;--line:#d5dbe1;--back:#fff;--now:#8a97a5;--new:#c2410c;--all:#dbe7f3;--good:#1d7a43}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--dim:#9aa7b4;--line:#37424e;--back:#14191f;--now:#8593a1;--new:#fb923c;--all:#243646;--good:#6cc98d}}
*{box-sizing:border-box}body{margin:0 auto;max-width:900px;padding:20px;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back)}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 6px}p{margin:4px 0}.dim{color:var(--dim)}code{overflow-wrap:anywhere}
.verdict{font-size:17px;font-weight:600;margin:16px 0 0;padding:10px 14px;border:1px solid var(--line);border-left:5px solid var(--good);border-radius:8px;overflow-wrap:anywhere}
.verdict.hurts{border-left-color:var(--new)}.cards{display:flex;flex-wrap:wrap;gap:10px;margin:10px 0 16px}
.card{border:1px solid var(--line);border-radius:8px;padding:10px 14px;flex:1 1 140px}.card b{display:block;font-size:22px}.card.hurts b{color:var(--new)}
.key{display:inline-block;margin-right:12px;white-space:nowrap}.key::before{content:"";display:inline-block;width:12px;height:12px;border-radius:2px;vertical-align:-1px;margin-right:5px;background:var(--of)}
.plot{display:grid;grid-template-columns:max-content 1fr;gap:2px 8px;font-size:12px;color:var(--dim);margin-top:10px}
.axis{display:flex;flex-direction:column;justify-content:space-between;text-align:right;line-height:12px;margin:-6px 0}
.plot svg{width:100%;height:190px;display:block}.plot path{vector-effect:non-scaling-stroke}.ends{grid-column:2;display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 12px}
.layer{display:grid;grid-template-columns:minmax(70px,max-content) 1fr;gap:0 12px;align-items:center;margin:6px 0;overflow-wrap:anywhere}
.bar{display:flex;align-items:center;gap:6px;font-size:12px;line-height:14px;color:var(--dim)}.bar i{height:11px;border-radius:2px;min-width:2px;background:var(--of)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th{font-weight:600;color:var(--dim);vertical-align:bottom}
th,td{padding:4px 8px;border-bottom:1px solid var(--line);text-align:right}td{white-space:nowrap}td.hurts{color:var(--new);font-weight:600}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:160px}td:first-child span{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
@media(max-width:700px){thead{display:none}table,tbody{display:block}tr{display:grid;grid-template-columns:repeat(3,1fr);border-bottom:1px solid var(--line);padding:8px 0}
td,td:first-child{border:0;padding:2px 8px 2px 0;text-align:left;white-space:normal}td:first-child{grid-column:1/-1;font-weight:600}
td[data-of]::before{content:attr(data-of);display:block;font-size:12px;font-weight:400;color:var(--dim)}}
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

// Number and unit stay on one line.
std::string share(std::uint64_t part, std::uint64_t of) {
  std::string text = escaped(share_text(part, of));
  if (const std::size_t gap = text.find(' '); gap != std::string::npos) text.replace(gap, 1, "&nbsp;");
  return text;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

void add_card(std::string& out, const std::string& value, const std::string& label,
              std::string_view look = {}) {
  out += "<div class=\"card" + std::string(look) + "\"><b>" + value + "</b><span class=\"dim\">" + label +
         "</span></div>";
}

// The answer to what was asked, before any figure.
void add_verdict(std::string& out, const Comparison& found) {
  const Tally& all = found.all();
  if (all.newly_refused == 0) {
    out += "<p class=\"verdict\">Nothing that passes today would be refused.</p>";
    return;
  }
  out += "<p class=\"verdict hurts\">" + count_text(all.newly_refused) + " requests (" +
         share(all.newly_refused, all.requests) + ") that pass today would be refused.";
  const auto first = found.callers().top(1);
  if (!first.empty() && first.front().second.newly_refused != 0) {
    const std::size_t callers = found.callers().newly_refused();
    out += (callers == 1 ? " One caller feels it: "
                         : " " + count_text(callers) + " callers feel it, most of all ") +
           escaped(first.front().first) + ".";
  }
  out += "</p>";
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
  add_verdict(out, found);
  out += "<div class=\"cards\">";
  add_card(out, count_text(all.requests), "requests");
  add_card(out, count_text(all.refused[in_force]),
           "refused in force (" + share(all.refused[in_force], all.requests) + ")");
  add_card(out, count_text(all.refused[renewed]),
           "refused by the new (" + share(all.refused[renewed], all.requests) + ")");
  add_card(out, count_text(all.newly_refused), "newly refused", all.newly_refused != 0 ? " hurts" : "");
  add_card(out, count_text(all.newly_allowed), "newly allowed");
  out += "</div>";
}

std::string key(std::string_view colour, std::string_view label) {
  return "<span class=\"key\" style=\"--of:var(" + std::string(colour) + ")\">" + std::string(label) +
         "</span>";
}

struct Scale {
  double per_interval;
  double per_request;
  double x(std::size_t interval) const { return per_interval * static_cast<double>(interval); }
  double y(std::uint64_t count) const { return kHeight - per_request * static_cast<double>(count); }
};

// A stepped line through the counts of one kind.
template <class Count>
std::string steps(const std::vector<Comparison::Interval>& intervals, const Scale& scale, Count count) {
  std::string path;
  for (std::size_t n = 0; n < intervals.size(); ++n) {
    const std::string y = number(scale.y(count(intervals[n])));
    append(path, n == 0 ? "M" : "L", number(scale.x(n)), " ", y, "L", number(scale.x(n + 1)), " ", y);
  }
  return path;
}

void add_timeline(std::string& out, const Comparison& found) {
  const auto& intervals = found.intervals();
  if (intervals.empty()) return;
  std::uint64_t most = 2;
  for (const auto& one : intervals) most = std::max(most, one.requests);
  const Scale scale{kWidth / static_cast<double>(intervals.size()), kHeight / static_cast<double>(most)};
  out += "<h2>Over time</h2><p class=\"dim\">" +
         key("--all", "requests per " + length_text(found.interval_ms())) + key("--now", "refused in force") +
         key("--new", "refused by the new") + "</p><div class=\"plot\"><div class=\"axis\">";
  for (const std::uint64_t value : {most, most / 2, std::uint64_t{0}})
    out += "<span>" + count_text(value) + "</span>";
  out +=
      "</div><svg role=\"img\" aria-label=\"requests and refusals over time\" preserveAspectRatio=\"none\" "
      "viewBox=\"0 0 " +
      std::to_string(kWidth) + " " + std::to_string(kHeight) + "\">";
  for (const std::uint64_t value : {most, most / 2, std::uint64_t{0}}) {
    out += "<path d=\"M0 " + number(scale.y(value)) + "H" + std::to_string(kWidth) +
           "\" stroke=\"var(--line)\" fill=\"none\"/>";
  }
  out += "<path fill=\"var(--all)\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.requests; }) + "V" +
         std::to_string(kHeight) + "H0Z\"/>";
  out += "<path fill=\"none\" stroke=\"var(--now)\" stroke-width=\"2\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.refused[in_force]; }) + "\"/>";
  out += "<path fill=\"none\" stroke=\"var(--new)\" stroke-width=\"2\" d=\"" +
         steps(intervals, scale, [](const auto& one) { return one.refused[renewed]; }) + "\"/>";
  out += "</svg><div class=\"ends\"><span>" + time_text(found.start_ms()) + "</span><span>" +
         time_text(found.end_ms()) + "</span></div></div>";
}

void add_bar(std::string& out, std::uint64_t value, std::uint64_t most, std::string_view colour) {
  constexpr double kRoom = 78;  // percent: the count stands behind the bar
  out += "<div class=\"bar\" style=\"--of:var(" + std::string(colour) + ")\">";
  if (value != 0)
    out += "<i style=\"width:" + number(kRoom * static_cast<double>(value) / static_cast<double>(most)) +
           "%\"></i>";
  out += count_text(value) + "</div>";
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
  out += "<h2>By layer</h2><p class=\"dim\">" + key("--now", "refused in force") +
         key("--new", "refused by the new") + "</p>";
  for (const std::size_t n : shown) {
    out += "<div class=\"layer\"><span>" + escaped(found.layers()[n]) + "</span><div>";
    add_bar(out, found.refused_by(in_force)[n], most, "--now");
    add_bar(out, found.refused_by(renewed)[n], most, "--new");
    out += "</div></div>";
  }
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

// `name` stands above the column where there is room, and in the cell where there is not.
void add_cell(std::string& out, std::string_view name, const std::string& text, std::string_view look = {}) {
  out += "<td data-of=\"" + std::string(name) + "\"" + std::string(look) + ">" + text + "</td>";
}

void add_table(std::string& out, const char* title, const TallyTable& table, const Comparison& found) {
  constexpr std::array<std::string_view, 6> kColumns{"requests",           "refused in force",
                                                     "refused by the new", "newly refused",
                                                     "refused mostly by",  "first .. last refusal"};
  std::string rows;
  for (const auto& [name, tally] : table.top(kPageRows)) {
    if (tally.refused[in_force] + tally.refused[renewed] == 0) continue;
    const std::string whole = escaped(name);
    append(rows, "<tr><td><span title=\"", whole, "\">", whole, "</span></td>");
    add_cell(rows, kColumns[0], count_text(tally.requests));
    add_cell(rows, kColumns[1], count_text(tally.refused[in_force]));
    add_cell(rows, kColumns[2], count_text(tally.refused[renewed]));
    add_cell(rows, kColumns[3], count_text(tally.newly_refused),
             tally.newly_refused != 0 ? " class=\"hurts\"" : "");
    add_cell(rows, kColumns[4], escaped(main_layer(tally, found)));
    add_cell(rows, kColumns[5], span_of_refusals(tally, found));
    rows += "</tr>";
  }
  if (rows.empty()) return;
  out += std::string("<h2>") + title + "</h2><table><thead><tr><th>name</th>";
  for (const std::string_view column : kColumns) out += "<th>" + std::string(column) + "</th>";
  out += "</tr></thead><tbody>" + rows + "</tbody></table>";
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
