// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json_line.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

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

// Whether every octet stands for itself.
bool is_plain(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::uint64_t marks = 0;
  for (; end - at >= 8; at += 8) {
    const std::uint64_t word = eight_octets(at);
    marks |= (word & kEachOctet * 0x80) | octets_below(word, 0x20) | octets_equal(word, '"') |
             octets_equal(word, '\\') | octets_equal(word, 0x7f);
  }
  for (; at != end; ++at) marks |= kPlain[static_cast<unsigned char>(*at)] ? 0 : 1;
  return marks == 0;
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
    std::size_t plain = 0;
    while (plain < text.size() && kPlain[static_cast<unsigned char>(text[plain])]) ++plain;
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

void append_time(std::string& out, std::int64_t wall_ms) {
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
  out.append(cache.text.data(), cache.size);
  const auto ms = static_cast<int>(wall_ms - second * 1000);
  out += static_cast<char>('0' + ms / 100);
  out += static_cast<char>('0' + ms / 10 % 10);
  out += static_cast<char>('0' + ms % 10);
  out += 'Z';
}

// The first name goes without its comma.
std::string_view JsonLine::begin(const Name& name) noexcept {
  return name.text().substr(std::exchange(first_, false) ? 1 : 0);
}

JsonLine& JsonLine::text(const Name& name, std::string_view value) {
  if (value.size() <= kMaxLoggedText && is_plain(value)) {
    append(out_, begin(name), "\"", value, "\"");
    return *this;
  }
  append(out_, begin(name), "\"");
  append_json_text(out_, cut(value));
  append(out_, value.size() > kMaxLoggedText ? kEllipsis : std::string_view(), "\"");
  return *this;
}

JsonLine& JsonLine::number(const Name& name, std::int64_t value) {
  append(out_, begin(name), value);
  return *this;
}

JsonLine& JsonLine::milliseconds(const Name& name, std::int64_t microseconds) {
  const std::int64_t value = std::max<std::int64_t>(microseconds, 0);
  const auto rest = static_cast<int>(value % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  append(out_, begin(name), value / 1000, std::string_view(decimals, sizeof decimals));
  return *this;
}

JsonLine& JsonLine::flag(const Name& name, bool value) {
  append(out_, begin(name), value ? std::string_view("true") : std::string_view("false"));
  return *this;
}

JsonLine& JsonLine::time(const Name& name, std::int64_t wall_ms) {
  append(out_, begin(name), "\"");
  append_time(out_, wall_ms);
  out_ += '"';
  return *this;
}

JsonLine& JsonLine::texts(const Name& name, std::span<const std::string_view> values) {
  append(out_, begin(name), "[");
  for (std::size_t n = 0; n < values.size(); ++n) {
    out_ += n == 0 ? "\"" : ",\"";
    append_json_text(out_, values[n]);
    out_ += '"';
  }
  out_ += ']';
  return *this;
}

JsonLine& JsonLine::members(const Name& name, std::span<const NamedValue> values) {
  append(out_, begin(name), "{");
  for (std::size_t n = 0; n < values.size(); ++n) {
    out_ += n == 0 ? "\"" : ",\"";
    append_json_text(out_, values[n].name);
    out_ += "\":\"";
    append_json_text(out_, cut(values[n].value));
    out_ += '"';
  }
  out_ += '}';
  return *this;
}

}  // namespace weir::telemetry
