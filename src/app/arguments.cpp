// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/command_line.hpp"
#include "config/diagnostics.hpp"

namespace weir::app {
namespace {

std::string unknown_option(const std::string& given, const std::vector<Arguments::Option>& known) {
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto& option : known) names.push_back(option.name);
  std::string text = "unknown option " + given;
  if (const auto nearest = config::nearest(given.substr(given.find_first_not_of('-')), names);
      !nearest.empty()) {
    text += ", did you mean --" + std::string(nearest) + "?";
  }
  return text;
}

}  // namespace

Arguments::Arguments(const std::vector<std::string>& arguments, std::vector<Option> known) {
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::string& word = arguments[n];
    if (word.size() < 2 || word[0] != '-') {
      rest.push_back(word);
      continue;
    }
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string head = word.substr(0, equals);
    const auto option = std::ranges::find_if(known, [&](const Option& candidate) {
      const bool by_letter = head.size() == 2 && candidate.letter != 0 && head[1] == candidate.letter;
      return by_letter || head == "--" + candidate.name;
    });
    if (option == known.end()) throw UsageError{unknown_option(head, known)};
    if (!option->takes_value) {
      given_.emplace_back(option->name, "");
    } else if (equals != std::string::npos) {
      given_.emplace_back(option->name, word.substr(equals + 1));
    } else if (++n < arguments.size()) {
      given_.emplace_back(option->name, arguments[n]);
    } else {
      throw UsageError{"option " + head + " needs a value"};
    }
  }
}

bool Arguments::has(const std::string& name) const {
  return std::ranges::any_of(given_, [&](const auto& option) { return option.first == name; });
}

std::string Arguments::value(const std::string& name, const std::string& fallback) const {
  const auto all = values(name);
  return all.empty() ? fallback : all.back();
}

std::vector<std::string> Arguments::values(const std::string& name) const {
  std::vector<std::string> all;
  for (const auto& [option, value] : given_) {
    if (option == name) all.push_back(value);
  }
  return all;
}

}  // namespace weir::app
