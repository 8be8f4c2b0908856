// SPDX-License-Identifier: Apache-2.0
// Who a logged request was, as a configuration sees it: what the gateway's extractor makes of a request, made
// of the log line instead.
#pragma once

#include "app/simulate/log_reader.hpp"
#include "pipeline/runtime.hpp"

namespace weir::app {

// Fills in every dimension and the exempt lane; `out` is as new. What was logged stands; the rest follows
// from method, path and client address, or is missing as the configuration says. That a value was
// contradictory shows in the log as its absence. Views point into `request`, `scratch` and `runtime`.
void identify_logged(const pipeline::Runtime& runtime, const LoggedRequest& request,
                     identity::Scratch& scratch, identity::Extraction& out);

}  // namespace weir::app
