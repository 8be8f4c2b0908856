// SPDX-License-Identifier: Apache-2.0
#include "upstream/message_heads.hpp"

#include <charconv>
#include <optional>

#include "http/date.hpp"
#include "http/field_filter.hpp"
#include "http/response_writer.hpp"
#include "upstream/upgrade.hpp"
#include "weir/base/append.hpp"

namespace weir::upstream {
namespace {

// Fields that go on as they came. Nearly all stand as "Name: value" one behind the other, and go on so: one
// copy for all of them.
class PassedFields {
 public:
  explicit PassedFields(std::string& out) noexcept : out_(out) {}
  ~PassedFields() { end_run(); }
  PassedFields(const PassedFields&) = delete;
  PassedFields& operator=(const PassedFields&) = delete;

  void add(const http::Field& field) {
    const char* const colon = field.name.data() + field.name.size();
    const bool usual = field.value.data() == colon + 2 && colon[0] == ':' && colon[1] == ' ';
    if (!usual || field.name.data() != next_) end_run();
    if (!usual) {
      append(out_, field.name, ": ", field.value, kLineEnd);
      return;
    }
    if (from_ == nullptr) from_ = field.name.data();
    to_ = field.value.data() + field.value.size();
    next_ = to_ + kLineEnd.size();
  }

 private:
  static constexpr std::string_view kLineEnd = "\r\n";

  void end_run() {
    if (from_ != nullptr)
      append(out_, std::string_view(from_, static_cast<std::size_t>(to_ - from_)), kLineEnd);
    from_ = to_ = next_ = nullptr;
  }

  std::string& out_;
  const char* from_ = nullptr;  // the run: lines that stand one behind the other
  const char* to_ = nullptr;    // its last value's end
  const char* next_ = nullptr;  // where a line that belongs to it would begin
};

bool is_listed(const http::FieldNames* names, const http::Field& field) noexcept {
  return names != nullptr && names->contains(field.key());
}

// Fields that append_request_head() writes itself, and Expect, which the gateway answers.
bool is_rewritten(const http::Field& field) noexcept {
  return field.is("host") || field.is("content-length") || field.is("expect");
}

// How often an OPTIONS request may still be forwarded; nothing if it does not say, or not in a number.
std::optional<std::uint32_t> max_forwards(const http::RequestHead& head) noexcept {
  if (head.method != http::Method::options) return {};
  const http::Field* field = head.find("max-forwards");
  if (field == nullptr) return {};
  std::uint32_t count = 0;
  const char* end = field->value.data() + field->value.size();
  const auto parsed = std::from_chars(field->value.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return count;
}

void append_passed_fields(std::string& out, const http::RequestHead& head, const ForwardPlan& plan) {
  PassedFields passed(out);
  const http::FieldFilter filter(head.fields);
  const bool forwards = max_forwards(head).has_value();
  for (const http::Field& field : head.fields) {
    const bool ends = is_rewritten(field) || filter.ends_here(field) ||
                      is_listed(plan.remove_request_fields, field) || (forwards && field.is("max-forwards"));
    if (!ends) passed.add(field);
  }
}

}  // namespace

bool ends_here(const http::RequestHead& head) noexcept {
  return max_forwards(head) == std::uint32_t{0};
}

void append_request_head(std::string& out, const http::RequestHead& head, const ForwardPlan& plan,
                         const Destination& destination) {
  const std::string_view host = head.authority.empty() ? destination.fallback_host : head.authority;
  append(out, head.method_text, " ", plan.request_target, " HTTP/1.1\r\nHost: ", host, "\r\n");
  append_passed_fields(out, head, plan);
  if (head.framing.kind == http::BodyKind::chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (head.framing.kind == http::BodyKind::length) {
    append(out, "Content-Length: ", head.framing.length, "\r\n");
  }
  if (const auto forwards = max_forwards(head); forwards && *forwards > 0) {
    append(out, "Max-Forwards: ", *forwards - 1, "\r\n");
  }
  if (!destination.upgrade.empty()) append_upgrade(out, destination.upgrade);
  append(out, "Via: 1.1 weir\r\n", plan.request_fields, "\r\n");
}

Cost append_response_fields(std::string& out, const http::ResponseHead& head, const ForwardPlan& plan,
                            std::int64_t wall_ms) {
  Cost cost;
  bool has_date = false;
  const http::FieldFilter filter(head.fields);
  const bool has_cost = !plan.cost_response_field.empty();
  const http::FieldName cost_field(plan.cost_response_field);
  {
    PassedFields passed(out);
    for (const http::Field& field : head.fields) {
      if (has_cost && field.is(cost_field)) {
        const char* end = field.value.data() + field.value.size();
        const auto parsed = std::from_chars(field.value.data(), end, cost.value);
        cost.present = parsed.ec == std::errc() && parsed.ptr == end;
        continue;
      }
      const bool ends = field.is("content-length") || filter.ends_here(field);
      if (ends || is_listed(plan.remove_response_fields, field)) continue;
      has_date = has_date || field.is("date");
      passed.add(field);
    }
  }
  append(out, has_date ? std::string_view() : http::date_line(wall_ms), plan.response_fields);
  return cost;
}

void append_interim_head(std::string& out, const http::ResponseHead& head) {
  append(out, "HTTP/1.1 ", head.status, " ", http::reason_phrase(head.status), "\r\n");
  {
    PassedFields passed(out);
    const http::FieldFilter filter(head.fields);
    for (const http::Field& field : head.fields) {
      if (!field.is("content-length") && !filter.ends_here(field)) passed.add(field);
    }
  }
  out += "\r\n";
}

}  // namespace weir::upstream
