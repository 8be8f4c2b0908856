// SPDX-License-Identifier: Apache-2.0
// Writes one JSON object member by member, for what the admin port shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text.hpp"

namespace weir::app {

// Opens the object at the end of `out`; end() closes it. Members come in the order of the calls.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  JsonObject& text(std::string_view name, std::string_view value) {
    key(name);
    pipeline::append_json_string(out_, value);
    return *this;
  }
  JsonObject& number(std::string_view name, std::int64_t value) {
    key(name);
    append(out_, value);
    return *this;
  }
  JsonObject& flag(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
    return *this;
  }
  JsonObject& texts(std::string_view name, const std::vector<std::string>& values) {
    key(name);
    out_ += '[';
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (n != 0) out_ += ',';
      pipeline::append_json_string(out_, values[n]);
    }
    out_ += ']';
    return *this;
  }
  JsonObject& null(std::string_view name) {
    key(name);
    out_ += "null";
    return *this;
  }
  // After key(): an object as the value, which `write` fills.
  template <class Write>
  void inside(const Write& write) {
    JsonObject object(out_);
    write(object);
    object.end();
  }
  // The caller writes the value.
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    pipeline::append_json_string(out_, name);
    out_ += ':';
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

// Appends [a,b,...]; `write` appends one element.
template <class Elements, class Write>
void append_json_array(std::string& out, const Elements& elements, const Write& write) {
  out += '[';
  bool first = true;
  for (const auto& element : elements) {
    if (!first) out += ',';
    first = false;
    write(element);
  }
  out += ']';
}

}  // namespace weir::app
