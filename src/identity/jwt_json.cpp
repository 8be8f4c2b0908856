// SPDX-License-Identifier: Apache-2.0
#include "identity/jwt_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

namespace weir::identity {
namespace {

namespace json = boost::json;
using json::error_code;
using json::string_view;

constexpr std::size_t kMaxLevels = 8;
constexpr std::size_t kMaxText = 16 * 1024;

// Builds values and counts the members that were written: an object keeps only the last of two members with
// one name, so a shortfall betrays a duplicate.
struct Events {
  static constexpr std::size_t max_object_size = kMaxText;
  static constexpr std::size_t max_array_size = kMaxText;
  static constexpr std::size_t max_key_size = kMaxText;
  static constexpr std::size_t max_string_size = kMaxText;

  json::value_stack stack;
  std::size_t members = 0;

  bool on_document_begin(error_code&) {
    stack.reset();
    return true;
  }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t size, error_code&) {
    members += size;
    stack.push_object(size);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t size, error_code&) {
    stack.push_array(size);
    return true;
  }
  bool on_key_part(string_view part, std::size_t, error_code&) { return chars(part); }
  bool on_key(string_view part, std::size_t, error_code&) {
    stack.push_key(part);
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) { return chars(part); }
  bool on_string(string_view part, std::size_t, error_code&) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, string_view, error_code&) {
    stack.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, string_view, error_code&) {
    stack.push_uint64(value);
    return true;
  }
  bool on_double(double value, string_view, error_code&) {
    stack.push_double(value);
    return true;
  }
  bool on_bool(bool value, error_code&) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(error_code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  bool chars(string_view part) {
    stack.push_chars(part);
    return true;
  }
};

std::size_t count_members(const json::value& value) {
  std::size_t count = 0;
  if (const json::object* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) count += count_members(member.value());
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) count += count_members(item);
  }
  return count;
}

}  // namespace

std::optional<json::object> parse_strict_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxLevels;
  json::basic_parser<Events> parser(options);
  error_code failure;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failure);
  if (failure || text.find_first_not_of(" \t\r\n", used) != text.npos) return std::nullopt;
  json::value value = parser.handler().stack.release();
  if (!value.is_object() || count_members(value) != parser.handler().members) return std::nullopt;
  return std::move(value.get_object());
}

}  // namespace weir::identity
