// SPDX-License-Identifier: Apache-2.0
#include "app/top_frame.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <vector>

#include "telemetry/json_line.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kFewestRows = 3, kCountWidth = 12;

const json::value* member(const json::value& of, std::string_view name) {
  return of.is_object() ? of.get_object().if_contains(name) : nullptr;
}

std::string text_of(const json::value& of, std::string_view name) {
  const json::value* const value = member(of, name);
  if (value == nullptr) return "-";
  if (!value->is_string()) return json::serialize(*value);
  std::string safe;
  telemetry::append_json_text(safe, std::string_view(value->get_string()));
  return safe;
}

std::uint64_t count_of(const json::value& of, std::string_view name) {
  const json::value* const value = member(of, name);
  return value != nullptr && value->is_int64() && value->get_int64() > 0
             ? static_cast<std::uint64_t>(value->get_int64())
             : 0;
}

// The start of a UTF-8 text, as many characters as there is room for.
std::string_view fitting(std::string_view text, std::size_t room) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts && seen++ == room) break;
  }
  return text.substr(0, at);
}

class Frame {
 public:
  Frame(ScreenSize size, std::string_view bold, std::string_view plain)
      : size_(size), bold_(bold), plain_(plain) {}

  void line(std::string_view text) { add(text, {}, {}); }
  void heading(std::string_view text) { add(text, bold_, plain_); }
  std::size_t rows_left() const noexcept { return size_.rows - std::min(size_.rows, used_); }
  std::string take() { return std::move(out_); }

 private:
  void add(std::string_view text, std::string_view before, std::string_view after) {
    if (used_ >= size_.rows) return;
    if (used_++ != 0) out_ += '\n';
    out_ += before;
    out_ += fitting(text, size_.columns);
    out_ += after;
  }

  ScreenSize size_;
  std::string_view bold_, plain_;
  std::string out_;
  std::size_t used_ = 0;
};

void append_count(std::string& out, std::uint64_t count) {
  const std::string text = std::to_string(count);
  out.append(text.size() < kCountWidth ? kCountWidth - text.size() : 1, ' ');
  out += text;
}

struct Row {
  std::string name;
  std::uint64_t requests = 0, refusals = 0;
};

// The heaviest by requests, and those that are known by their refusals alone.
std::vector<Row> rows_of(const json::value& top, std::string_view kind) {
  std::map<std::string, Row> rows;
  const json::value* const both = member(top, kind);
  if (both == nullptr) return {};
  for (const std::string_view by : {"requests", "refusals"}) {
    const json::value* const list = member(*both, by);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::value& one : list->get_array()) {
      Row& row = rows[text_of(one, "name")];
      (by == "requests" ? row.requests : row.refusals) = count_of(one, "count");
    }
  }
  std::vector<Row> out;
  for (auto& [name, row] : rows) {
    row.name = name;
    out.push_back(std::move(row));
  }
  std::ranges::sort(out, [](const Row& a, const Row& b) {
    return std::max(a.requests, a.refusals) > std::max(b.requests, b.refusals);
  });
  return out;
}

void add_ranking(Frame& frame, const json::value& top, std::string_view kind, std::size_t rows) {
  std::string head = "    requests     refused  ";
  frame.heading(head += kind);
  for (const Row& row : rows_of(top, kind)) {
    if (rows-- == 0) return;
    std::string line;
    append_count(line, row.requests);
    append_count(line, row.refusals);
    frame.line(line + "  " + row.name);
  }
}

void add_refused(Frame& frame, const json::value& top, std::size_t rows) {
  const json::value* const list = member(top, "refused");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return;
  frame.heading("     refused  by layer, of caller");
  for (const json::value& one : list->get_array()) {
    if (rows-- == 0) return;
    std::string line;
    append_count(line, count_of(one, "count"));
    frame.line(line + "  " + text_of(one, "layer") + ", " + text_of(one, "name"));
  }
}

std::string state_line(const json::value& status) {
  return "weir " + text_of(status, "version") + "  node " + text_of(status, "node") + "  " +
         text_of(status, "state") + "  up " + text_of(status, "uptime_s") + " s  connections " +
         text_of(status, "connections");
}

std::string store_line(const json::value& status) {
  std::string line = "configuration " + text_of(status, "config_version") + "  reloads " +
                     text_of(status, "reloads_applied") + ", rejected " + text_of(status, "reloads_rejected");
  const json::value* const store = member(status, "store");
  if (store == nullptr) return line;
  line += "  store " + text_of(*store, "kind");
  if (member(*store, "health") != nullptr) line += " " + text_of(*store, "health");
  return line;
}

}  // namespace

std::string top_frame(std::string_view status, std::string_view top, ScreenSize size, std::string_view bold,
                      std::string_view plain) {
  Frame frame(size, bold, plain);
  json::error_code failed;
  const json::value state = json::parse({status.data(), status.size()}, failed);
  if (failed) {
    frame.line("the admin port's /status cannot be read");
    return frame.take();
  }
  frame.heading(state_line(state));
  frame.line(store_line(state));
  const json::value ranks = json::parse({top.data(), top.size()}, failed);
  if (failed) {
    frame.line("the admin port keeps no rankings");
    return frame.take();
  }
  frame.line("counted over the last one to two minutes");
  constexpr std::size_t kTables = 4;
  const std::size_t rows = std::max(kFewestRows, frame.rows_left() / kTables - 1);
  add_refused(frame, ranks, rows);
  for (const std::string_view kind : {"caller", "user", "api"}) add_ranking(frame, ranks, kind, rows);
  return frame.take();
}

}  // namespace weir::app
