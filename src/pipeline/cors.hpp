// SPDX-License-Identifier: Apache-2.0
// Cross-origin answers (spec AN-5): preflights cost nothing, and a refusal carries the fields without which a
// browser shows its script a network error instead of a 429.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/runtime.hpp"
#include "weir/http/message.hpp"

namespace weir::pipeline {

// OPTIONS with Origin and Access-Control-Request-Method. A bare OPTIONS is an ordinary request.
bool is_preflight(const http::RequestHead& head) noexcept;

// Whether the gateway owns cross-origin answers.
inline bool cors_on(const CorsOptions& options) noexcept {
  return !options.origins.empty();
}

// Fields of the answer to a preflight; only Vary where the origin is not allowed.
void append_preflight_fields(std::string& out, const http::RequestHead& head, const CorsOptions& options);

// Fields of any other answer to a cross-origin request; nothing without an Origin field.
void append_cors_fields(std::string& out, const http::RequestHead& head, const CorsOptions& options);

// Lower-case names of the fields that the gateway sets and therefore takes out of upstream answers.
const std::vector<std::string>& cors_field_names();

}  // namespace weir::pipeline
