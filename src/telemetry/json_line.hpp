// SPDX-License-Identifier: Apache-2.0
// Builds one JSON object per line into a buffer that is reused: no allocation once the buffer has grown.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/telemetry/records.hpp"

namespace weir::telemetry {

// Appends `text` as the inside of a JSON string. Quotes, backslashes and control characters are escaped,
// octets that are no UTF-8 become U+FFFD, so that nothing a client sends can end the string, the line, or the
// parser.
void append_json_text(std::string& out, std::string_view text);

// Longer texts are cut, on a character's edge, and end with an ellipsis: log lines stay bounded whatever the
// request looked like.
inline constexpr std::size_t kMaxLoggedText = 2048;

class JsonLine {
 public:
  // Appends to `out`, which must outlive this and is whole again when this is gone. An object has at least
  // one field.
  explicit JsonLine(std::string& out) : out_(out), used_(out.size()) {}
  ~JsonLine() { whole(); }
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  // A field's name with all that stands around it; names are literals of ours and are not escaped.
  class Name {
   public:
    template <std::size_t kSize>
    consteval Name(const char (&literal)[kSize]) {
      static_assert(kSize <= kMax);
      put(",\"");
      put({literal, kSize - 1});
      put("\":");
    }
    static constexpr std::size_t kBytes = 40;
    // Writes kBytes, of which those before the returned end count.
    char* write(char* to) const noexcept {
      std::memcpy(to, bytes_.data(), kBytes);
      return to + size_;
    }

   private:
    static constexpr std::size_t kMax = kBytes - 4;
    constexpr void put(std::string_view text) {
      for (const char c : text) bytes_[size_++] = c;
    }
    std::array<char, kBytes> bytes_{};
    std::size_t size_ = 0;
  };

  JsonLine& text(const Name& name, std::string_view value);
  JsonLine& number(const Name& name, std::int64_t value);
  // Microseconds as milliseconds with three decimals.
  JsonLine& milliseconds(const Name& name, std::int64_t microseconds);
  JsonLine& flag(const Name& name, bool value);
  // Wall time as RFC 3339 in UTC with milliseconds.
  JsonLine& time(const Name& name, std::int64_t wall_ms);
  JsonLine& texts(const Name& name, std::span<const std::string_view> values);
  // An object of texts; their names are escaped.
  JsonLine& members(const Name& name, std::span<const NamedValue> values);

  // Ends the object and the line.
  void end() {
    whole() += "}\n";
    whole_again();
  }

 private:
  // The name, and room for `most` bytes behind it: where they begin. written() says where they end.
  char* begin(const Name& name, std::size_t most) {
    const std::size_t wanted = used_ + Name::kBytes + most;
    if (out_.size() < wanted) make_room(wanted);
    char* const to = out_.data() + used_;
    char* const end = name.write(to);
    *to = std::exchange(next_, ',');
    return end;
  }
  void make_room(std::size_t wanted);
  void written(const char* end) noexcept { used_ = static_cast<std::size_t>(end - out_.data()); }
  // Without the room, for what is appended the long way; whole_again() afterwards.
  std::string& whole() noexcept;
  std::string& whole(const Name& name);
  JsonLine& whole_again() noexcept;

  std::string& out_;
  std::size_t used_;  // of it; what is behind is room
  char next_ = '{';   // stands before the next name
};

// "2026-11-30T12:34:56.789Z". Formats the date once per second and thread.
void append_time(std::string& out, std::int64_t wall_ms);

}  // namespace weir::telemetry
