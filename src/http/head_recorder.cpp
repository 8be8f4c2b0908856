// SPDX-License-Identifier: Apache-2.0
#include "http/head_recorder.hpp"

#include <boost/asio/buffer.hpp>
#include <exception>

namespace weir::http {

template <bool kIsRequest>
bool HeadRecorder<kIsRequest>::record(std::string_view head) noexcept try {
  this->header_limit(static_cast<std::uint32_t>(head.size() + 1));
  BeastError failed;
  const std::size_t used = this->put(boost::asio::buffer(head.data(), head.size()), failed);
  if (failed || !this->is_header_done() || used != head.size()) return false;
  // A folded value is joined in the parser's own buffer: its view would dangle.
  for (const Field& field : fields_) {
    const bool inside =
        field.value.empty() || (field.value.data() >= head.data() &&
                                field.value.data() + field.value.size() <= head.data() + head.size());
    if (!inside) return false;
  }
  return true;
} catch (const std::exception&) {
  return false;  // std::length_error for names or values of 64 KiB (boostorg/beast#2920)
}

template class HeadRecorder<true>;
template class HeadRecorder<false>;

}  // namespace weir::http
