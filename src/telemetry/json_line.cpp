// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json_line.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/octet_block.hpp"
#include "base/short_copy.hpp"
#include "weir/base/append.hpp"
#include "weir/base/octets.hpp"

namespace weir::telemetry {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

// Octets that stand for themselves.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void append_escape(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[c >> 4];
  out += digits[c & 15];
}

// Length of the well-formed UTF-8 sequence that `text` starts with (RFC 3629: no overlong form, no surrogate,
// nothing above U+10FFFF); 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto at = [text](std::size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char lead = at(0);
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t n = 1; n < size; ++n) {
    if ((at(n) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = at(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool too_large = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : size;
}

// Marks for the octets that do not stand for themselves; the lowest mark is exact.
constexpr std::uint64_t unusual_octets(std::uint64_t word) {
  return (word & kEachOctet * 0x80) | octets_below(word, 0x20) | octets_equal(word, '"') |
         octets_equal(word, '\\') | octets_equal(word, 0x7f);
}

bool is_plain(std::string_view text) {
  const auto block_has = [](const auto& block) { return block.escaped_in_json() != 0; };
  const auto word_has = [](std::uint64_t word) { return unusual_octets(word) != 0; };
  return !any_octet(text, block_has, word_has);
}

// How many octets from the start on stand for themselves.
std::size_t plain_size(std::string_view text) {
  std::size_t n = 0;
#ifdef __SSE2__
  for (; n + OctetBlock::kSize <= text.size(); n += OctetBlock::kSize) {
    const OctetMarks marks = OctetBlock(text.data() + n).escaped_in_json();
    if (marks != 0) return n + static_cast<std::size_t>(std::countr_zero(marks));
  }
#endif
  for (; n + 8 <= text.size(); n += 8) {
    const std::uint64_t marks = unusual_octets(eight_octets(text.data() + n));
    if (marks != 0) return n + first_marked(marks);
  }
  while (n < text.size() && kPlain[static_cast<unsigned char>(text[n])]) ++n;
  return n;
}

// At most kMaxLoggedText octets, never half a character.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxLoggedText) return text;
  std::size_t size = kMaxLoggedText;
  while (size > kMaxLoggedText - 4 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t plain = plain_size(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const auto c = static_cast<unsigned char>(text.front());
    if (c < 0x80) {
      append_escape(out, c);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t size = sequence_length(text);
    out += size == 0 ? kReplacement : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

namespace {

// Returns the end of what it wrote, at most kTimeBytes.
constexpr std::size_t kTimeBytes = 40;
char* write_time(char* to, std::int64_t wall_ms) {
  struct Cache {
    std::int64_t second = INT64_MIN;
    std::array<char, 32> text{};
    std::size_t size = 0;
  };
  thread_local Cache cache;
  const std::int64_t second = wall_ms >= 0 ? wall_ms / 1000 : (wall_ms - 999) / 1000;
  if (second != cache.second) {
    const std::time_t time = second;
    std::tm parts{};
    gmtime_r(&time, &parts);
    cache.size = std::strftime(cache.text.data(), cache.text.size(), "%Y-%m-%dT%H:%M:%S.", &parts);
    cache.second = second;
  }
  std::memcpy(to, cache.text.data(), cache.text.size());
  to += cache.size;
  const auto ms = static_cast<int>(wall_ms - second * 1000);
  *to++ = static_cast<char>('0' + ms / 100);
  *to++ = static_cast<char>('0' + ms / 10 % 10);
  *to++ = static_cast<char>('0' + ms % 10);
  *to++ = 'Z';
  return to;
}

}  // namespace

void append_time(std::string& out, std::int64_t wall_ms) {
  std::array<char, kTimeBytes> text;
  const char* const end = write_time(text.data(), wall_ms);
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

// A line of the access log fits into the room that its first name makes.
void JsonLine::make_room(std::size_t wanted) {
  constexpr std::size_t kRoom = 1024;
  out_.resize(wanted + kRoom);
}

std::string& JsonLine::whole() noexcept {
  if (out_.size() > used_) out_.resize(used_);
  return out_;
}

std::string& JsonLine::whole(const Name& name) {
  written(begin(name, 0));
  return whole();
}

JsonLine& JsonLine::whole_again() noexcept {
  used_ = out_.size();
  return *this;
}

JsonLine& JsonLine::text(const Name& name, std::string_view value) {
  if (value.size() <= kMaxLoggedText && is_plain(value)) {
    char* to = begin(name, value.size() + 2);
    *to++ = '"';
    to = copy(to, value);
    *to++ = '"';
    written(to);
    return *this;
  }
  std::string& out = whole(name);
  out += '"';
  append_json_text(out, cut(value));
  append(out, value.size() > kMaxLoggedText ? kEllipsis : std::string_view(), "\"");
  return whole_again();
}

JsonLine& JsonLine::number(const Name& name, std::int64_t value) {
  char* const to = begin(name, kMostDigits);
  written(std::to_chars(to, to + kMostDigits, value).ptr);
  return *this;
}

JsonLine& JsonLine::milliseconds(const Name& name, std::int64_t microseconds) {
  const std::int64_t value = std::max<std::int64_t>(microseconds, 0);
  const auto rest = static_cast<int>(value % 1000);
  char* to = begin(name, kMostDigits + 4);
  to = std::to_chars(to, to + kMostDigits, value / 1000).ptr;
  *to++ = '.';
  *to++ = static_cast<char>('0' + rest / 100);
  *to++ = static_cast<char>('0' + rest / 10 % 10);
  *to++ = static_cast<char>('0' + rest % 10);
  written(to);
  return *this;
}

JsonLine& JsonLine::flag(const Name& name, bool value) {
  whole(name) += value ? "true" : "false";
  return whole_again();
}

JsonLine& JsonLine::time(const Name& name, std::int64_t wall_ms) {
  char* to = begin(name, kTimeBytes + 2);
  *to++ = '"';
  to = write_time(to, wall_ms);
  *to++ = '"';
  written(to);
  return *this;
}

JsonLine& JsonLine::texts(const Name& name, std::span<const std::string_view> values) {
  std::string& out = whole(name);
  out += '[';
  for (std::size_t n = 0; n < values.size(); ++n) {
    out += n == 0 ? "\"" : ",\"";
    append_json_text(out, values[n]);
    out += '"';
  }
  out += ']';
  return whole_again();
}

JsonLine& JsonLine::members(const Name& name, std::span<const NamedValue> values) {
  std::string& out = whole(name);
  out += '{';
  for (std::size_t n = 0; n < values.size(); ++n) {
    out += n == 0 ? "\"" : ",\"";
    append_json_text(out, values[n].name);
    out += "\":\"";
    append_json_text(out, cut(values[n].value));
    out += '"';
  }
  out += '}';
  return whole_again();
}

}  // namespace weir::telemetry
