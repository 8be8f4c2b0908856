// SPDX-License-Identifier: Apache-2.0
#include "http/head_lines.hpp"

#include "http/characters.hpp"
#include "weir/base/octets.hpp"

namespace weir::http {
namespace {

constexpr bool is_control(char c) noexcept {
  return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f;
}

// Where the first control character is from `at` on; `end` if there is none.
const char* find_control(const char* at, const char* end) noexcept {
  for (; end - at >= 8; at += 8) {
    const std::uint64_t word = eight_octets(at);
    const std::uint64_t marks = octets_below(word, 0x20) | octets_equal(word, 0x7f);
    if (marks != 0) return at + first_marked(marks);
  }
  while (at != end && !is_control(*at)) ++at;
  return at;
}

}  // namespace

bool has_control(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  return find_control(text.data(), end) != end;
}

std::optional<StatusLine> read_status_line(std::string_view line) noexcept {
  constexpr std::size_t kCodeAt = 9;
  constexpr std::size_t kReasonAt = 13;
  if (!line.starts_with("HTTP/1.") || line.size() < kReasonAt) return {};
  const char minor = line[7];
  const bool has_form = (minor == '0' || minor == '1') && line[8] == ' ' && line[kReasonAt - 1] == ' ';
  if (!has_form || line[kCodeAt] < '1' || line[kCodeAt] > '5') return {};
  if (!is_digit(line[kCodeAt + 1]) || !is_digit(line[kCodeAt + 2])) return {};
  StatusLine found;
  found.version_minor = minor - '0';
  found.status = (line[kCodeAt] - '0') * 100 + (line[kCodeAt + 1] - '0') * 10 + (line[kCodeAt + 2] - '0');
  found.reason = line.substr(kReasonAt);
  const char* const end = line.data() + line.size();
  for (const char* at = found.reason.data(); (at = find_control(at, end)) != end; ++at) {
    if (*at != '\t') return {};
  }
  return found;
}

bool read_field_lines(std::string_view lines, std::vector<Field>& fields) {
  fields.clear();
  const char* at = lines.data();
  const char* const end = at + lines.size();
  while (at != end && *at != '\r') {
    const char* const name = at;
    while (at != end && is_token_octet(*at)) ++at;
    if (at == name || at == end || *at != ':') return false;
    const std::string_view name_text(name, static_cast<std::size_t>(at - name));
    ++at;
    while (at != end && is_blank(*at)) ++at;
    const char* const value = at;
    while ((at = find_control(at, end)) != end && *at == '\t') ++at;
    if (end - at < 2 || *at != '\r') return false;
    const char* value_end = at;
    while (value_end != value && is_blank(value_end[-1])) --value_end;
    fields.emplace_back(name_text, std::string_view(value, static_cast<std::size_t>(value_end - value)));
    at += 2;
  }
  return end - at == 2;
}

}  // namespace weir::http
