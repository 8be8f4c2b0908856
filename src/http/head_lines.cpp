// SPDX-License-Identifier: Apache-2.0
#include "http/head_lines.hpp"

#include <bit>

#include "base/octet_block.hpp"
#include "http/characters.hpp"
#include "weir/base/octets.hpp"

namespace weir::http {
namespace {

constexpr bool is_control(char c) noexcept {
  return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f;
}

// Where the first octet is, from `at` on, that no token has; `end` if there is none.
const char* find_token_end(const char* at, const char* end) noexcept {
#ifdef __SSE2__  // nearly every name is letters and hyphens
  while (static_cast<std::size_t>(end - at) >= OctetBlock::kSize) {
    const OctetMarks others = OctetBlock(at).letters_and_hyphens() ^ OctetBlock::kAll;
    if (others == 0) {
      at += OctetBlock::kSize;
      continue;
    }
    at += std::countr_zero(others);
    if (!is_token_octet(*at)) return at;
    ++at;
  }
#endif
  while (at != end && is_token_octet(*at)) ++at;
  return at;
}

// Where the first control character is from `at` on; `end` if there is none.
const char* find_control(const char* at, const char* end) noexcept {
#ifdef __SSE2__
  for (; static_cast<std::size_t>(end - at) >= OctetBlock::kSize; at += OctetBlock::kSize) {
    const OctetMarks found = OctetBlock(at).controls();
    if (found != 0) return at + std::countr_zero(found);
  }
#endif
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

std::size_t read_field_lines(std::string_view bytes, std::size_t most, Fields& fields) {
  fields.clear();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end && *at != '\r') {
    const char* const name = at;
    at = find_token_end(at, end);
    if (at == name || at == end || *at != ':' || fields.size() == most) return 0;
    const std::string_view name_text(name, static_cast<std::size_t>(at - name));
    ++at;
    while (at != end && is_blank(*at)) ++at;
    const char* const value = at;
    while ((at = find_control(at, end)) != end && *at == '\t') ++at;
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n') return 0;
    const char* value_end = at;
    while (value_end != value && is_blank(value_end[-1])) --value_end;
    fields.emplace_back(name_text, std::string_view(value, static_cast<std::size_t>(value_end - value)));
    at += 2;
  }
  const bool whole = end - at >= 2 && at[1] == '\n';
  return whole ? static_cast<std::size_t>(at + 2 - bytes.data()) : 0;
}

}  // namespace weir::http
