// SPDX-License-Identifier: Apache-2.0
// One worker's pointer to the Runtime in force. Publishing is a pointer swap posted to each worker: no lock
// and no shared atomic on the request path.
#pragma once

#include <memory>
#include <utility>

#include "pipeline/runtime.hpp"

namespace weir::pipeline {

// Threads: set() and current() on the owning worker only.
class RuntimeSlot {
 public:
  explicit RuntimeSlot(std::shared_ptr<const Runtime> runtime) { set(std::move(runtime)); }

  // The count that requests raise and lower belongs to this worker alone: each worker wraps the shared
  // Runtime in a control block of its own, so that two workers never write one cache line per request.
  void set(std::shared_ptr<const Runtime> runtime) {
    const Runtime* plain = runtime.get();
    auto own = std::make_shared<std::shared_ptr<const Runtime>>(std::move(runtime));
    current_ = std::shared_ptr<const Runtime>(std::move(own), plain);
  }

  const std::shared_ptr<const Runtime>& current() const noexcept { return current_; }

 private:
  std::shared_ptr<const Runtime> current_;
};

}  // namespace weir::pipeline
