// SPDX-License-Identifier: Apache-2.0
// `store`: where counters live. URLs are taken apart here and never shown: they may carry a password.
#include <charconv>
#include <cmath>

#include "config/parse.hpp"
#include "net/tls_context.hpp"

namespace weir::config {

namespace {

using store::StoreKind;
using store::StoreOptions;

constexpr std::string_view kUrlForm =
    "is not a store URL; write redis://host:port/0, rediss://host:port/0 (TLS) or unix:///path/to/socket";

// redis://[user:password@]host[:port][/db]. False if it is none.
bool read_redis_url(std::string_view rest, StoreOptions& store) {
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = rest.substr(0, at);
    const std::size_t colon = who.find(':');
    store.username = std::string(who.substr(0, colon));
    if (colon != std::string_view::npos) store.password = std::string(who.substr(colon + 1));
    rest.remove_prefix(at + 1);
  }
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    std::string ignored;
    const std::optional<std::int64_t> database = parse_count(rest.substr(slash + 1), ignored);
    if (!database || *database > 65535) return false;
    store.database = static_cast<int>(*database);
  }
  std::string address(rest.substr(0, slash));
  const bool has_port =
      address.find(':', address.find(']') == std::string::npos ? 0 : address.find(']')) != std::string::npos;
  if (!has_port) address += ":6379";
  std::string ignored;
  const std::optional<HostPort> target = parse_host_port(address, ignored);
  if (!target) return false;
  store.host = target->host;
  store.port = target->port;
  return true;
}

enum class Scheme : std::uint8_t { none, redis, rediss, unix_socket };

Scheme scheme_of(std::string_view url) {
  if (url.starts_with("redis://")) return Scheme::redis;
  if (url.starts_with("rediss://")) return Scheme::rediss;
  return url.starts_with("unix:///") ? Scheme::unix_socket : Scheme::none;
}

// False if it is none of the forms.
bool read_one_url(std::string_view url, StoreOptions& store) {
  switch (scheme_of(url)) {
    case Scheme::unix_socket:
      store.unix_path = url.substr(std::string_view("unix://").size());
      return true;
    case Scheme::redis:
      return read_redis_url(url.substr(std::string_view("redis://").size()), store);
    case Scheme::rediss:
      return read_redis_url(url.substr(std::string_view("rediss://").size()), store);
    case Scheme::none:
      break;
  }
  return false;
}

// One URL, or a list of the nodes of a cluster. True if TLS is asked for.
bool read_url(Section& section, StoreOptions& store) {
  const Node* const node = section.find("url");
  if (node == nullptr) return false;
  std::vector<std::string> urls(1);
  const bool is_list = node->kind == Node::Kind::sequence;
  if (!(is_list ? section.texts("url", urls) : section.text("url", urls[0]))) return false;
  for (const std::string& url : urls) {
    if (!read_one_url(url, store)) {
      section.error("url", std::string(kUrlForm));
      return false;
    }
    if (is_list) store.cluster.push_back({store.host, store.port});
  }
  return !urls.empty() && scheme_of(urls[0]) == Scheme::rediss;
}

void read_cluster(Section& section, StoreOptions& store) {
  bool cluster = false;
  section.boolean("cluster", cluster);
  if (cluster && store.cluster.empty()) store.cluster.push_back({store.host, store.port});
  if (store.cluster.empty()) return;
  if (store.database != 0) section.error("url", "names a database; a cluster has only database 0");
  if (!store.unix_path.empty()) section.error("url", "is a unix socket; a cluster needs host:port");
}

// Who knows the primary; the host of the URL is then the name that they watch it under.
void read_sentinels(Section& section, const std::string& weir_file, StoreOptions& store) {
  const Node* const node = section.find("sentinel");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->text == "none")) return;
  Section terms(*node, section.path_of("sentinel"), section.context());
  std::vector<std::string> addresses;
  if (!terms.texts("addresses", addresses) || addresses.empty())
    terms.error("addresses", "is missing: a list of host:port");
  for (const std::string& address : addresses) {
    std::string why;
    const std::optional<HostPort> one = parse_host_port(address, why);
    if (!one) {
      terms.error("addresses", "`" + address + "` is no host:port");
      continue;
    }
    store.sentinels.push_back({one->host, one->port});
  }
  terms.text("username", store.sentinel_username);
  read_secret_file(terms, "password_file", weir_file, store.sentinel_password);
  terms.finish();
  if (!store.cluster.empty()) section.error("sentinel", "is for one primary; a cluster fails over by itself");
  if (!store.unix_path.empty())
    section.error("url", "is a unix socket; with sentinel it names the primary: redis://mymaster/0");
}

void read_tls(Section& section, const std::string& weir_file, bool asked_for, StoreOptions& store) {
  parse_client_tls(section, weir_file, store.tls, store.tls_version);
  if (store.tls != nullptr || !asked_for) return;
  std::string why;
  store.tls = net::TlsClientContext::make({}, why);
  store.tls_version = "defaults";
}

void read_password(Section& section, const std::string& weir_file, StoreOptions& store) {
  if (section.text("password", store.password)) {
    const Node* const node = section.find("password");
    if (!node->written) {
      section.context().diagnostics.warning(node->at, "store.password",
                                            "stands in the file in the clear; use password_file or ${NAME}");
    }
  }
  read_secret_file(section, "password_file", weir_file, store.password);
}

// A share from 0% to `most_permille`, in tenths of a percent at the finest.
void read_permille(Section& section, std::string_view key, std::int64_t most_permille, std::int64_t& out) {
  std::string text;
  if (!section.text(key, text)) return;
  double percent = -1;
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  const bool whole = read.ec == std::errc{} && std::string_view(read.ptr) == "%";
  const std::int64_t permille = whole ? std::llround(percent * 10) : -1;
  if (permille < 0 || permille > most_permille) {
    section.error(key, "is not a share from 0% to " + std::to_string(most_permille / 10) + '%');
    return;
  }
  out = permille;
}

void read_leases(Section& section, store::LeaseOptions& lease) {
  using store::Counting;
  static constexpr Word<Counting> words[] = {
      {"auto", Counting::automatic}, {"exact", Counting::exact}, {"leased", Counting::leased}};
  section.word("counting", lease.counting, words);
  const Node* const node = section.find("lease");
  if (node == nullptr) return;
  Section terms(*node, section.path_of("lease"), section.context());
  terms.duration("max_age", lease.max_age, {Milliseconds{50}, Milliseconds{1000}});
  read_permille(terms, "outstanding", 200, lease.outstanding_permille);
  read_permille(terms, "debt", 50, lease.debt_permille);
  terms.finish();
}

// The store of all regions. Its leases are long, since it is far away, and its calls may be slow.
void read_parent(Section& section, const std::string& weir_file, StoreOptions& store) {
  const Node* const node = section.find("parent");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->text == "none")) return;
  Section terms(*node, section.path_of("parent"), section.context());
  StoreOptions parent;
  parent.kind = StoreKind::redis;
  parent.timeout = Milliseconds{250};
  parent.long_after = store.long_after;
  parent.lease.counting = store::Counting::leased;
  parent.lease.max_age = Milliseconds{10'000};
  parent.lease.outstanding_permille = 200;
  parent.lease.requests = 1000;
  terms.duration("timeout", parent.timeout, {Milliseconds{1}, std::chrono::seconds(5)});
  terms.duration("ttl", parent.lease.max_age, {Milliseconds{1000}, Milliseconds{60'000}});
  terms.count("permits", parent.lease.requests, {40, 1'000'000});
  parent.lease.ahead = 2 * parent.timeout;
  if (terms.find("url") == nullptr) terms.error("url", "is missing: the store that all regions share");
  const bool wants_tls = read_url(terms, parent);
  terms.text("username", parent.username);
  read_password(terms, weir_file, parent);
  read_cluster(terms, parent);
  read_sentinels(terms, weir_file, parent);
  read_tls(terms, weir_file, wants_tls, parent);
  if (parent.password.empty() && !parent.username.empty())
    terms.error("username", "has no password; add password_file");
  terms.finish();
  store.parent = std::make_shared<const StoreOptions>(std::move(parent));
}

}  // namespace

void parse_store(Section& root, Document& document) {
  document.store_at = root.at("store");
  const Node* const node = root.find("store");
  if (node == nullptr) return;
  StoreOptions& store = document.store;
  Section section(*node, "store", root.context());
  static constexpr Word<StoreKind> kinds[] = {{"memory", StoreKind::memory}, {"redis", StoreKind::redis}};
  section.word("kind", store.kind, kinds);
  std::int64_t count = 0;
  if (section.count("max_keys", count, {64, 100'000'000})) store.max_keys = static_cast<std::size_t>(count);
  if (section.count("instances", count, {1, 10'000})) store.instances = static_cast<std::size_t>(count);
  Milliseconds long_after = store.long_after;
  section.duration("long_after", long_after, {std::chrono::seconds(1), std::chrono::hours(24)});
  store.long_after = std::chrono::duration_cast<std::chrono::seconds>(long_after);
  section.duration("timeout", store.timeout, {Milliseconds{1}, std::chrono::seconds(5)});
  const bool wants_tls = read_url(section, store);
  section.text("username", store.username);
  read_password(section, document.weir_file, store);
  read_cluster(section, store);
  read_sentinels(section, document.weir_file, store);
  read_tls(section, document.weir_file, wants_tls, store);
  if (store.password.empty() && !store.username.empty())
    section.error("username", "has no password; add password_file");
  read_leases(section, store.lease);
  read_parent(section, document.weir_file, store);
  if (store.kind == StoreKind::memory) {
    for (const std::string_view redis_only :
         {"url", "username", "password", "password_file", "cluster", "sentinel", "parent"}) {
      if (section.find(redis_only) != nullptr) section.error(redis_only, "is for kind: redis");
    }
  } else if (section.find("url") == nullptr) {
    section.error("url", "is missing; kind: redis needs one such as redis://127.0.0.1:6379/0");
  }
  section.finish();
}

}  // namespace weir::config
