// SPDX-License-Identifier: Apache-2.0
#include "app/quota_shelf.hpp"

#include "telemetry/log.hpp"

namespace weir::app {

void QuotaShelf::take_copy(const pipeline::QuotaOrigin& origin, std::string& why) {
  if (origin.copy.empty()) return;
  auto quotas = config::read_copy(origin.copy, why);
  if (quotas) copy_ = std::make_shared<const config::PushedQuotas>(std::move(*quotas));
  if (!why.empty()) why = origin.copy + " " + why;
}

void QuotaShelf::offer(config::PushedQuotas quotas) {
  offered_ = std::make_shared<const config::PushedQuotas>(std::move(quotas));
}

QuotaShelf::Outcome QuotaShelf::load(const pipeline::Runtime* in_force) {
  Outcome out;
  std::vector<Quotas> tried;
  for (const Quotas& quotas : {offered_, in_force_, in_force_ == nullptr ? copy_ : nullptr}) {
    const bool is_new = quotas != nullptr && (tried.empty() || tried.back()->version != quotas->version);
    if (!is_new) continue;
    tried.push_back(quotas);
    config::LoadResult loaded = config::load(config_path_, nullptr, {}, quotas.get(), in_force);
    if (loaded.runtime != nullptr) {
      in_force_ = loaded.from_store ? quotas : nullptr;
      if (in_force_ != nullptr) keep_copy(quotas, loaded.runtime->quotas.copy);
      out.loaded = std::move(loaded);
      return out;
    }
    for (const std::string& error : loaded.errors) {
      out.refused.push_back("pushed quotas " + quotas->version + ": " + error);
    }
    out.loaded = std::move(loaded);
  }
  if (in_force_ == nullptr) out.loaded = config::load(config_path_, nullptr, {}, nullptr, in_force);
  return out;
}

config::LoadResult load_at_hand(const std::string& config_path) {
  config::LoadResult plain = config::load(config_path);
  if (plain.runtime == nullptr || !plain.from_store) return plain;
  QuotaShelf quotas(config_path);
  std::string why;
  quotas.take_copy(plain.runtime->quotas, why);
  return quotas.load().loaded;
}

void QuotaShelf::keep_copy(const Quotas& quotas, const std::string& path) {
  if (path.empty() || (copy_ != nullptr && copy_->version == quotas->version)) return;
  std::string why;
  if (config::write_copy(path, *quotas, why)) {
    copy_ = quotas;
  } else {
    telemetry::log_warn(
        "config.quotas_copy",
        "quotas are in force, but a restart without the store would not know them: " + path + ": " + why);
  }
}

}  // namespace weir::app
