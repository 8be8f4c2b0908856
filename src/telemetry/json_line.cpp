// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

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

void append_number(std::string& out, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
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

// What a field begins with, put together here so that the line grows once for it: a request has two dozen.
class JsonLine::Piece {
 public:
  Piece(JsonLine& line, std::string_view field) : out_(line.out_) {
    if (!line.first_) add(',');
    line.first_ = false;
    add('"');
    add(field);
    add("\":");
  }
  ~Piece() { out_.append(bytes_.data(), size_); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  void add(char c) { bytes_[size_++] = c; }
  void add(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += text.size();
  }
  void add_number(std::int64_t value) {
    char* const from = bytes_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(from, bytes_.data() + bytes_.size(), value).ptr - from);
  }

 private:
  std::string& out_;
  std::array<char, kMaxName + 32> bytes_;
  std::size_t size_ = 0;
};

JsonLine& JsonLine::text(std::string_view field, std::string_view value) {
  Piece(*this, field).add('"');
  if (value.size() > kMaxLoggedText) {
    append_json_text(out_, cut(value));
    out_ += kEllipsis;
  } else {
    append_json_text(out_, value);
  }
  out_ += '"';
  return *this;
}

JsonLine& JsonLine::number(std::string_view field, std::int64_t value) {
  Piece(*this, field).add_number(value);
  return *this;
}

JsonLine& JsonLine::milliseconds(std::string_view field, std::int64_t microseconds) {
  Piece piece(*this, field);
  if (microseconds < 0) microseconds = 0;
  piece.add_number(microseconds / 1000);
  const auto rest = static_cast<int>(microseconds % 1000);
  piece.add('.');
  piece.add(static_cast<char>('0' + rest / 100));
  piece.add(static_cast<char>('0' + rest / 10 % 10));
  piece.add(static_cast<char>('0' + rest % 10));
  return *this;
}

JsonLine& JsonLine::flag(std::string_view field, bool value) {
  Piece(*this, field).add(value ? std::string_view("true") : std::string_view("false"));
  return *this;
}

JsonLine& JsonLine::time(std::string_view field, std::int64_t wall_ms) {
  Piece(*this, field).add('"');
  append_time(out_, wall_ms);
  out_ += '"';
  return *this;
}

JsonLine& JsonLine::texts(std::string_view field, std::span<const std::string_view> values) {
  Piece(*this, field).add('[');
  for (std::size_t n = 0; n < values.size(); ++n) {
    out_ += n == 0 ? "\"" : ",\"";
    append_json_text(out_, values[n]);
    out_ += '"';
  }
  out_ += ']';
  return *this;
}

JsonLine& JsonLine::members(std::string_view field, std::span<const NamedValue> values) {
  Piece(*this, field).add('{');
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
