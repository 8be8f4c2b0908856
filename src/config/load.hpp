// SPDX-License-Identifier: Apache-2.0
// The way in: files -> parse -> validate -> compile -> a Runtime to publish, or everything that is wrong.
// `weir check`, start-up and reload all take it, so that what one refuses all refuse. Blocks on file reads;
// call it off the request path. Never throws.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/diagnostics.hpp"
#include "config/pushed_quotas.hpp"
#include "net/tls_context.hpp"
#include "pipeline/runtime.hpp"

namespace weir::config {

// One thing that was found, with its place apart from its text. `line` 0: the file as a whole.
struct Finding {
  Severity severity = Severity::error;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string path;  // "limit.user.default"
  std::string text;
};

struct LoadResult {
  std::shared_ptr<const pipeline::Runtime> runtime;  // null if there are errors: keep the old one
  // `file:line:column: path: text`, sorted by place.
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::vector<Finding> findings;  // all of them, sorted by place
  // Every file that was read or looked for: what to watch for changes, also after a failure.
  std::vector<std::string> files;
  // The quota file and those it names, under the names they were read by.
  QuotaFiles quotas;
  bool from_store =
      false;  // weir.yaml says `quotas: {from: store}`; also known after a failure in the quotas
};

// `known_keys`, if given, collects the name of every key the parsers asked for. `quotas_file`, unless empty,
// stands in for the one that weir.yaml names; so do `pushed` quotas, where weir.yaml takes them from the
// store. `in_force`: what a running gateway has, whose own certificates stop nothing when they have expired
// (certificates.cpp).
LoadResult load(const std::string& weir_yaml_path, std::set<std::string>* known_keys = nullptr,
                const std::string& quotas_file = {}, const PushedQuotas* pushed = nullptr,
                const pipeline::Runtime* in_force = nullptr);

// What a gateway began with and only a restart changes.
struct FixedOptions {
  std::vector<pipeline::Listener> listeners;
  pipeline::Listener admin;
  std::string admin_token;
  net::TlsDemands admin_demands = net::TlsDemands::none;
  std::size_t workers = 0;
  pipeline::LogOptions log;
  store::StoreOptions store;
};
FixedOptions fixed_options(const pipeline::Runtime& runtime);

// The keys (as in weir.yaml) that differ in `runtime` and take effect only after a restart.
std::vector<std::string> restart_needed(const FixedOptions& begun_with, const pipeline::Runtime& runtime);

}  // namespace weir::config
