// SPDX-License-Identifier: Apache-2.0
#include "http/framing.hpp"

#include <limits>

#include "http/characters.hpp"

namespace weir::http {

std::optional<std::uint64_t> parse_content_length(std::string_view value) noexcept {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (value.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : value) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number > (kMax - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number;
}

std::optional<Framing> judge_framing(const Fields& fields, int version_minor,
                                     Duplicates duplicates) noexcept {
  std::optional<std::uint64_t> length;
  int codings = 0;
  bool good = true;
  fields.each("content-length", [&](const Field& field) {
    const auto parsed = parse_content_length(field.value);
    const bool again = length && (duplicates == Duplicates::refuse || length != parsed);
    good = good && parsed && !again;
    length = parsed;
  });
  fields.each("transfer-encoding", [&](const Field& field) {
    good = good && iequals(field.value, "chunked");
    ++codings;
  });
  if (!good) return std::nullopt;
  if (codings == 0) return length ? Framing{BodyKind::length, *length} : Framing{};
  if (codings > 1 || length || version_minor == 0) return std::nullopt;
  return Framing{BodyKind::chunked, 0};
}

bool judge_keep_alive(const Fields& fields, int version_minor) noexcept {
  bool keeps = version_minor >= 1;
  bool closes = false;
  fields.each("connection", [&](const Field& field) {
    std::string_view list = field.value;
    std::string_view member;
    while (next_member(list, member)) {
      closes = closes || iequals(member, "close");
      keeps = keeps || iequals(member, "keep-alive");
    }
  });
  return keeps && !closes;
}

}  // namespace weir::http
