// SPDX-License-Identifier: Apache-2.0
// The fields of a message: views into its head, in order. A message is asked for some thirty names on its
// way; nearly all are not there, which one bit tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "weir/http/field_name.hpp"

namespace weir::http {

struct Field {
  Field() = default;
  Field(std::string_view field_name, std::string_view field_value) noexcept
      : name(field_name), value(field_value), hash(folded_hash(field_name)) {}

  std::string_view name;
  std::string_view value;  // without surrounding white space; never CR, LF or NUL
  std::uint32_t hash = 0;  // folded_hash(name)

  FieldName key() const noexcept { return {name, hash}; }
  bool is(const FieldName& other) const noexcept { return key() == other; }
};

class Fields {
 public:
  using value_type = Field;
  using const_iterator = std::vector<Field>::const_iterator;

  Fields() = default;
  Fields(std::initializer_list<Field> fields) : Fields(std::vector<Field>(fields)) {}
  Fields(std::vector<Field> fields) : fields_(std::move(fields)) {
    for (const Field& field : fields_) note(field);
  }

  void clear() noexcept {
    fields_.clear();
    names_ = 0;
  }
  void push_back(const Field& field) {
    fields_.push_back(field);
    note(field);
  }
  void emplace_back(std::string_view name, std::string_view value) {
    note(fields_.emplace_back(name, value));
  }
  template <class Predicate>
  void erase_if(Predicate unwanted) {
    std::erase_if(fields_, unwanted);
  }

  std::size_t size() const noexcept { return fields_.size(); }
  bool empty() const noexcept { return fields_.empty(); }
  const Field& operator[](std::size_t n) const noexcept { return fields_[n]; }
  const_iterator begin() const noexcept { return fields_.begin(); }
  const_iterator end() const noexcept { return fields_.end(); }
  auto rbegin() const noexcept { return fields_.rbegin(); }
  auto rend() const noexcept { return fields_.rend(); }

  // False: no field has that name. True: one may have it.
  bool may_have(const FieldName& name) const noexcept { return (names_ & bit_of(name.hash())) != 0; }
  // The first field of that name, or nullptr.
  const Field* find(const FieldName& name) const noexcept {
    return may_have(name) ? look_for(name) : nullptr;
  }
  // Calls `take(field)` for each field of that name, in order.
  template <class Take>
  void each(const FieldName& name, Take take) const {
    if (!may_have(name)) return;
    for (const Field& field : fields_) {
      if (field.is(name)) take(field);
    }
  }

 private:
  static std::uint64_t bit_of(std::uint32_t hash) noexcept { return std::uint64_t{1} << hash % 64; }
  void note(const Field& field) noexcept { names_ |= bit_of(field.hash); }
  const Field* look_for(const FieldName& name) const noexcept;

  std::vector<Field> fields_;
  std::uint64_t names_ = 0;  // the bits of all names that were ever put in
};

}  // namespace weir::http
