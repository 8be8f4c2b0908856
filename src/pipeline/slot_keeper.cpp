// SPDX-License-Identifier: Apache-2.0
#include "pipeline/slot_keeper.hpp"

#include <algorithm>

namespace weir::pipeline {

void SlotKeeper::release(RequestContext& context) noexcept {
  const auto place = std::ranges::find(held_, &context);
  if (place == held_.end()) return;
  *place = held_.back();
  held_.pop_back();
  store_.release(context.charges);
}

void SlotKeeper::renew_all() {
  for (const RequestContext* context : held_) store_.renew(context->charges);
}

}  // namespace weir::pipeline
