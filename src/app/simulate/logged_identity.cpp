// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/logged_identity.hpp"

#include <algorithm>

#include "identity/addresses.hpp"
#include "identity/sources.hpp"

namespace weir::app {
namespace {

namespace dimension = identity::dimension;
using identity::Presence;

// Which of its sources gave the caller's name the log does not say.
bool callers_are_vouched_for(const identity::ExtractorOptions& options) {
  for (const identity::DimensionOptions& each : options.dimensions) {
    if (each.index == dimension::caller) return std::ranges::all_of(each.from, identity::is_vouched_for);
  }
  return false;
}

std::string_view logged_value(const LoggedRequest& request, const identity::DimensionOptions& options) {
  if (options.index == dimension::caller) return request.caller;
  if (options.index == dimension::user) return request.user;
  for (const auto& [name, value] : request.identity) {
    if (name == options.name) return value;
  }
  return {};
}

void fill(identity::Value& value, const LoggedRequest& request, const identity::DimensionOptions& options) {
  const std::string_view logged = logged_value(request, options);
  if (!logged.empty()) {
    value = {logged, Presence::present};
  } else if (value.presence != Presence::present) {
    const bool needed = options.missing || options.used_by_layer;
    value.presence = needed ? Presence::anonymous : Presence::absent;
  }
}

}  // namespace

void identify_logged(const pipeline::Runtime& runtime, const LoggedRequest& request,
                     identity::Scratch& scratch, identity::Extraction& out) {
  const identity::Extractor& extractor = runtime.extractor;
  const auto client = identity::parse_address(request.client);
  extractor.place(request.method, request.path, client ? *client : identity::Address(), scratch, out);
  for (const auto& options : extractor.options().dimensions) {
    if (!identity::is_derived(options.index)) fill(out.identity[options.index], request, options);
  }
  if (const auto route = runtime.route_table.find(request.method, request.path)) {
    out.identity[dimension::upstream] = {runtime.routes[*route].upstream, Presence::present};
  }
  const bool vouched = request.exempt || callers_are_vouched_for(extractor.options());
  if (vouched && extractor.exempts(request.caller)) out.identity.exempt = true;
}

}  // namespace weir::app
