// SPDX-License-Identifier: Apache-2.0
// The quotas at hand where weir.yaml takes them from the store, and which of them are in force: the last ones
// that the store offered, the ones in force, the copy of those on the disk, and the file that counts until
// some are pushed. Loads the configuration with the best of them that fits it.
//
// While pushed quotas are in force nothing falls back to the file: what does not fit changes nothing. A
// gateway that starts takes the first that fits: offered, copy, file. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/load.hpp"

namespace weir::app {

class QuotaShelf {
 public:
  struct Outcome {
    config::LoadResult loaded;
    std::vector<std::string> refused;  // what is wrong with quotas that were passed over
  };

  explicit QuotaShelf(std::string config_path) : config_path_(std::move(config_path)) {}

  // At start: the copy that `origin` names, if it is there. What is wrong with it is in `why`.
  void take_copy(const pipeline::QuotaOrigin& origin, std::string& why);
  void offer(config::PushedQuotas quotas);

  // Reads everything again. Pushed quotas that load are in force from then on, and copied to the disk.
  // `in_force`: as in config::load().
  Outcome load(const pipeline::Runtime* in_force = nullptr);

  const std::string& config_path() const noexcept { return config_path_; }
  // The version last offered, good or bad; "" if there was none.
  std::string offered_version() const { return offered_ == nullptr ? std::string() : offered_->version; }

 private:
  using Quotas = std::shared_ptr<const config::PushedQuotas>;
  void keep_copy(const Quotas& quotas, const std::string& path);

  std::string config_path_;
  Quotas offered_, in_force_, copy_;
};

// What a gateway with this weir.yaml would have in force if its store were away: the copy, or the file.
config::LoadResult load_at_hand(const std::string& config_path);

}  // namespace weir::app
