// SPDX-License-Identifier: Apache-2.0
#include "redis/error.hpp"

#include <array>
#include <string>

namespace weir::redis {
namespace {

constexpr std::array<std::string_view, kErrorKinds> kNames{
    "none",   "unavailable", "timeout",   "protocol",     "noscript",  "loading",
    "oom",    "readonly",    "noauth",    "moved",        "crossslot", "wrong_type",
    "noperm", "ask",         "try_again", "cluster_down", "tls",       "other"};

struct Word {
  std::string_view word;
  ErrorKind kind;
};

constexpr std::array kWords{
    Word{"NOSCRIPT", ErrorKind::noscript},
    Word{"LOADING", ErrorKind::loading},
    Word{"MASTERDOWN", ErrorKind::loading},
    Word{"BUSY", ErrorKind::loading},
    Word{"CLUSTERDOWN", ErrorKind::cluster_down},
    Word{"TRYAGAIN", ErrorKind::try_again},
    Word{"OOM", ErrorKind::oom},
    Word{"MISCONF", ErrorKind::oom},
    Word{"NOREPLICAS", ErrorKind::oom},
    Word{"READONLY", ErrorKind::readonly},
    Word{"NOAUTH", ErrorKind::noauth},
    Word{"WRONGPASS", ErrorKind::noauth},
    Word{"MOVED", ErrorKind::moved},
    Word{"ASK", ErrorKind::ask},
    Word{"CROSSSLOT", ErrorKind::crossslot},
    Word{"WRONGTYPE", ErrorKind::wrong_type},
    Word{"NOPERM", ErrorKind::noperm},
};

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir.redis"; }
  std::string message(int value) const override {
    return "store: " + std::string(name_of(static_cast<ErrorKind>(value)));
  }
};

}  // namespace

const boost::system::error_category& category() noexcept {
  static const Category instance;
  return instance;
}

error_code make_error_code(ErrorKind kind) noexcept {
  return {static_cast<int>(kind), category()};
}

std::string_view name_of(ErrorKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames.back();
}

ErrorKind classify(std::string_view message) noexcept {
  const std::string_view first = message.substr(0, message.find(' '));
  for (const Word& entry : kWords) {
    if (first == entry.word) return entry.kind;
  }
  // A script's own failure is wrapped: "ERR ...WRONGTYPE Operation ..." up to Redis 6, verbatim since 7.
  if (message.find("WRONGTYPE") != std::string_view::npos) return ErrorKind::wrong_type;
  return ErrorKind::other;
}

bool is_outage(const error_code& error) noexcept {
  if (!error.failed()) return false;
  if (error.category() != category()) return true;
  switch (static_cast<ErrorKind>(error.value())) {
    case ErrorKind::moved:
    case ErrorKind::ask:
    case ErrorKind::try_again:
    case ErrorKind::crossslot:
    case ErrorKind::wrong_type:
      return false;
    default:
      return true;
  }
}

}  // namespace weir::redis
