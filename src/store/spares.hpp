// SPDX-License-Identifier: Apache-2.0
// Things that are large and needed for as long as something is under way: kept, so that there are as many as
// ever were needed at once. What was left in one is still there when it is taken again. One per worker.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weir::store {

template <class Thing>
class Spares {
 public:
  std::unique_ptr<Thing> take() {
    if (kept_.empty()) return std::make_unique<Thing>();
    std::unique_ptr<Thing> thing = std::move(kept_.back());
    kept_.pop_back();
    return thing;
  }
  void give_back(std::unique_ptr<Thing> thing) { kept_.push_back(std::move(thing)); }

 private:
  std::vector<std::unique_ptr<Thing>> kept_;
};

}  // namespace weir::store
