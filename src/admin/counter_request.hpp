// SPDX-License-Identifier: Apache-2.0
// Which counter is meant, in GET /counters and POST /counters/reset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::admin {

enum class Lane : std::uint8_t { ordinary, exempt };

struct CounterRequest {
  std::string layer;  // "": none was named
  Lane lane = Lane::ordinary;
  // Dimension and value; no value: the shared counter of requests that lack it.
  std::vector<std::pair<std::string, std::optional<std::string>>> key;
  std::string confirm;  // what the look at the same counter gave; only a reset has it
};

// "layer=user&key=caller:acme&key=user&lane=exempt", form-encoded, as a GET has it. nullopt if it names none;
// `why` then says what is wrong and what is allowed.
std::optional<CounterRequest> parse_counter_query(std::string_view query, std::string& why);

// {"layer":"user","key":{"caller":"acme","user":null},"lane":"exempt","confirm":"..."}, as a POST has it;
// nothing else may be in it.
std::optional<CounterRequest> parse_counter_body(std::string_view json, std::string& why);

}  // namespace weir::admin
