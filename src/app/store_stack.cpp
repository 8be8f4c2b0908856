// SPDX-License-Identifier: Apache-2.0
#include "app/store_stack.hpp"

namespace weir::app {

StoreStack::StoreStack(boost::asio::io_context& io, const store::StoreOptions& options,
                       store::MemoryStore& memory, const Clock& clock)
    : top_(&memory) {
  if (options.kind == store::StoreKind::memory) return;
  caller_ = std::make_shared<redis::SingleCaller>(
      redis::Connection::start(io.get_executor(), store::connection_options(options)));
  redis_ = std::make_unique<store::RedisStore>(caller_, options.timeout);
  store::LadderStore::Options local;
  local.instances = options.instances;
  local.long_after = options.long_after;
  ladder_ = std::make_unique<store::LadderStore>(local, *redis_, memory, clock);
  scope_ = std::make_unique<store::ScopeStore>(memory, *ladder_);
  top_ = scope_.get();
}

void StoreStack::close() {
  if (caller_) caller_->close();
}

}  // namespace weir::app
