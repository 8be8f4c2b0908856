// SPDX-License-Identifier: Apache-2.0
#include "net/tls_error.hpp"

#include <array>
#include <string>

namespace weir::net {
namespace {

constexpr std::array<std::string_view, kTlsErrors> kNames = {
    "none",
    "timeout",
    "closed",
    "plain_text",
    "protocol",
    "alpn",
    "alert",
    "certificate_missing",
    "certificate_expired",
    "certificate_early",
    "certificate_self_signed",
    "certificate_untrusted",
    "certificate_name",
    "certificate_revoked",
    "certificate_invalid",
    "truncated",
    "internal",
};

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }
  std::string message(int value) const override {
    return std::string(tls_error_name(static_cast<TlsError>(value)));
  }
};

const Category kCategory;

}  // namespace

std::string_view tls_error_name(TlsError error) noexcept {
  const auto index = static_cast<std::size_t>(error);
  return index < kNames.size() ? kNames[index] : kNames.back();
}

TlsError tls_error_of(const error_code& code) noexcept {
  if (code.category() == kCategory) return static_cast<TlsError>(code.value());
  return code.category() == boost::system::system_category() ? TlsError::closed : TlsError::internal;
}

error_code make_error_code(TlsError error) noexcept {
  return {static_cast<int>(error), kCategory};
}

}  // namespace weir::net
