// SPDX-License-Identifier: Apache-2.0
// A map of the configuration while it is being read: hands out values by key, converts them, reports what is
// wrong with them, and at the end complains of every key that nobody asked for. So the keys a section knows
// are written once, where they are read.
//
// All reading functions leave `out` alone and return false when the key is absent or its value is wrong (the
// error is then reported). They return true when `out` was set.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.hpp"
#include "config/files.hpp"
#include "config/node.hpp"
#include "config/scalars.hpp"

namespace weir::net {
class TlsCertificate;
}

namespace weir::config {

// The certificates that a running gateway shows, to listeners' clients and to whom it connects.
using Certificates = std::vector<std::shared_ptr<const net::TlsCertificate>>;

// What every parser needs: where complaints go and where files come from.
struct Context {
  Diagnostics& diagnostics;
  Files& files;
  std::set<std::string>* known_keys = nullptr;  // if set, collects every key any section knows (for tests)
  const Certificates* in_force = nullptr;       // null: no gateway runs yet
  std::size_t kept_certificates = 0;  // of those: how many stay, since what replaces them is not valid

  void error(const Node& node, const std::string& path, std::string text) const {
    diagnostics.error(node.at, path, std::move(text));
  }
};

template <class E>
struct Word {
  std::string_view name;
  E value;
};

template <class T>
struct Range {
  T least;
  T most;
};
using Milliseconds = std::chrono::milliseconds;

class Section {
 public:
  // `node` may be null (an empty section). Anything but a map is reported, and the section is then empty.
  Section(const Node& node, std::string path, Context& context);
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // nullptr if the key is absent. A key written without a value is reported and treated as absent.
  const Node* find(std::string_view key);
  // The same for a key that may stand without a value.
  const Node* find_maybe_empty(std::string_view key);
  // Reports every key that was not asked for.
  void finish();

  const std::string& path() const noexcept { return path_; }
  std::string path_of(std::string_view key) const;
  Position at() const noexcept { return at_; }
  Position at(std::string_view key) const;  // of the key; of the section if absent
  Context& context() const noexcept { return context_; }
  void error(std::string_view key, std::string text) const;  // at the key's value

  bool text(std::string_view key, std::string& out);
  bool boolean(std::string_view key, bool& out);
  bool count(std::string_view key, std::int64_t& out, Range<std::int64_t> range);
  bool duration(std::string_view key, Milliseconds& out, Range<Milliseconds> range);
  // The same, or `none`, which becomes 0.
  bool duration_or_none(std::string_view key, Milliseconds& out, Range<Milliseconds> range);
  bool size(std::string_view key, std::uint64_t& out, Range<std::uint64_t> range);
  bool share(std::string_view key, double& out);
  bool host_port(std::string_view key, HostPort& out);
  bool texts(std::string_view key, std::vector<std::string>& out);  // a list of scalars
  bool cidrs(std::string_view key, std::vector<identity::Cidr>& out);

  template <class E, std::size_t N>
  bool word(std::string_view key, E& out, const Word<E> (&words)[N]) {
    std::vector<std::string_view> names;
    for (const Word<E>& one : words) names.push_back(one.name);
    const std::size_t chosen = choose(key, names);
    if (chosen == N || chosen == SIZE_MAX) return false;
    out = words[chosen].value;
    return true;
  }

  // A key with no code behind it yet: only the words that mean what happens today are taken.
  void not_supported(std::string_view key, std::span<const std::string_view> today);

 private:
  std::size_t choose(std::string_view key, std::span<const std::string_view> names);
  const Node* scalar(std::string_view key);
  void wrong(const Node& node, std::string_view key, const std::string& why);

  const Node* map_ = nullptr;
  std::string path_;
  Position at_;
  Context& context_;
  std::vector<std::string_view> known_;
};

std::string join_path(const std::string& section, std::string_view key);

}  // namespace weir::config
