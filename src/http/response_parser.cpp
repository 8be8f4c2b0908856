// SPDX-License-Identifier: Apache-2.0
#include "http/response_parser.hpp"

#include "http/characters.hpp"
#include "http/field_filter.hpp"
#include "http/framing.hpp"
#include "http/head_lines.hpp"

namespace weir::http {
namespace {

constexpr std::size_t kStatusLineBytes = 8 * 1024;

// False as soon as the bytes cannot become a status line.
bool may_be_a_status_line(std::string_view line) noexcept {
  constexpr std::string_view kStart = "HTTP/1.";
  return line.substr(0, kStart.size()) == kStart.substr(0, line.size());
}

bool has_no_body(int status, Method request_method) noexcept {
  return request_method == Method::head || status < 200 || status == 204 || status == 304;
}

// The bytes that the head takes, 0 if it is not there as a whole, or not well formed.
std::size_t read_lines(std::string_view bytes, ResponseHead& head) {
  const std::size_t end = bytes.find('\r');
  const bool too_long = end == bytes.npos || end > kStatusLineBytes;
  if (too_long || end + 1 == bytes.size() || bytes[end + 1] != '\n') return 0;
  const auto line = read_status_line(bytes.substr(0, end));
  if (!line) return 0;
  const std::size_t rest = read_field_lines(bytes.substr(end + 2), ResponseParser::kHeaderCount, head.fields);
  head.status = line->status;
  head.reason = line->reason;
  head.version_minor = line->version_minor;
  return rest > 0 ? end + 2 + rest : 0;
}

}  // namespace

ResponseParser::State ResponseParser::parse(std::string_view bytes, Method request_method,
                                            ResponseHead& head) {
  // As for requests: most come whole and well formed.
  if (!scanner_.began()) {
    head_end_ = read_lines(bytes, head);
    if (head_end_ > 0 && head_end_ <= kHeaderBytes) return judge(request_method, head);
  }
  const HeadScanner::State found = scanner_.scan(bytes, {kStatusLineBytes, kHeaderBytes, kHeaderCount});
  const bool possible = scanner_.begin() == 0 && may_be_a_status_line(bytes);
  if (possible && found == HeadScanner::State::incomplete) return State::incomplete;
  if (!possible || found != HeadScanner::State::complete) return State::refused;
  head_end_ = scanner_.end();
  return read_lines(bytes.substr(0, head_end_), head) > 0 ? judge(request_method, head) : State::refused;
}

ResponseParser::State ResponseParser::judge(Method request_method, ResponseHead& head) noexcept {
  const auto framing = judge_framing(head.fields, head.version_minor, Duplicates::accept_equal);
  if (!framing || FieldFilter::nominations_exceed_limit(head.fields)) return State::refused;
  head.framing = *framing;
  head.keep_alive = judge_keep_alive(head.fields, head.version_minor);
  head.bodiless = has_no_body(head.status, request_method);
  if (head.bodiless) {
    if (head.framing.kind == BodyKind::chunked) head.framing = {};
  } else if (head.framing.kind == BodyKind::none) {
    head.framing.kind = BodyKind::until_close;
    head.keep_alive = false;
  }
  return State::complete;
}

}  // namespace weir::http
