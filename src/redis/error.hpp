// SPDX-License-Identifier: Apache-2.0
// What can go wrong with the store, by what it means for the caller rather than by how it showed.
//
//   outage   unavailable timeout protocol loading oom readonly noauth noperm tls: the server, or the way to
//            it, is ill, or denies everything (a right that is missing is missing for all keys).
//            Whether a timed-out or broken-off call was carried out is unknown; it is never sent again.
//            cluster_down: some shard is.
//   bug      moved ask crossslot wrong_type: it works for nobody until someone changes something (a cluster
//            behind a single-server address, a foreign value under a counter's key).
//   passing  try_again: one slot of a cluster, while it moves; all others are well.
#pragma once

#include <string_view>
#include <type_traits>

#include "weir/base/result.hpp"

namespace weir::redis {

enum class ErrorKind : int {
  unavailable = 1,  // no connection, or it broke off, or too many calls are waiting
  timeout,          // no answer within the call's deadline
  protocol,         // an answer that cannot be one
  noscript,         // the script is not loaded (seen by callers of Connection only; ScriptRunner repairs it)
  loading,
  oom,
  readonly,  // a replica after a fail-over: the connection is made anew
  noauth,
  moved,
  crossslot,
  wrong_type,
  noperm,
  ask,           // a slot on its way to another node of the cluster
  try_again,     // the same, while the keys of one call are on both sides
  cluster_down,  // a slot that no node serves at the moment
  tls,           // no handshake: the certificate, its name or its authority is not accepted
  other,
};
inline constexpr int kErrorKinds = 18;  // one above the largest value

const boost::system::error_category& category() noexcept;
error_code make_error_code(ErrorKind kind) noexcept;
// The kind's name, for the label of a metric: "timeout".
std::string_view name_of(ErrorKind kind) noexcept;

// The kind of a RESP error, by its first word: "LOADING Redis is loading ..." -> loading.
ErrorKind classify(std::string_view message) noexcept;

// True for the outage kinds; errors of other categories are outages too.
bool is_outage(const error_code& error) noexcept;

}  // namespace weir::redis

namespace boost::system {
template <>
struct is_error_code_enum<weir::redis::ErrorKind> : std::true_type {};
}  // namespace boost::system
