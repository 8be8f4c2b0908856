// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "config/parse.hpp"

namespace weir::config {

namespace {

void parse_admin(Section& root, Document& document) {
  const Node* const node = root.find("admin");
  if (node == nullptr) return;
  Section admin(*node, "admin", root.context());
  HostPort address;
  if (admin.host_port("address", address)) {
    document.admin = {{address.host, address.port}, admin.at("address"), "admin.address"};
  }
  admin.text("token", document.admin_token);
  read_secret_file(admin, "token_file", document.weir_file, document.admin_token);
  document.admin_tls = parse_server_tls(admin, document.weir_file);
  admin.finish();
}

void parse_client_address(Section& root, Document& document) {
  if (const Node* const list = root.find("trusted_proxies")) {
    std::vector<identity::Cidr> blocks;
    root.cidrs("trusted_proxies", blocks);
    for (std::size_t n = 0; n < blocks.size() && n < list->items.size(); ++n) {
      document.trusted_proxies.push_back({blocks[n], list->items[n].at, "trusted_proxies"});
    }
  }
  const Node* const node = root.find("client_address");
  if (node == nullptr) return;
  Section section(*node, "client_address", root.context());
  std::int64_t prefix = 0;
  if (section.count("ipv4_prefix", prefix, {8, 32})) document.ipv4_prefix = static_cast<int>(prefix);
  if (section.count("ipv6_prefix", prefix, {16, 128})) document.ipv6_prefix = static_cast<int>(prefix);
  section.finish();
}

void parse_paths(Section& root, Document& document) {
  const Node* const node = root.find("paths");
  if (node == nullptr) return;
  Section section(*node, "paths", root.context());
  static constexpr Word<bool> forward[] = {{"raw", false}, {"normal", true}};
  static constexpr Word<bool> slash[] = {{"reject", false}, {"keep", true}};
  section.word("forward", document.paths.forward_normal, forward);
  section.word("encoded_slash", document.paths.keep_encoded_slash, slash);
  std::vector<std::string> folds;
  section.texts("fold", folds);
  for (const std::string& fold : folds) {
    if (fold == "case") {
      document.paths.fold_case = true;
    } else if (fold == "trailing_slash") {
      document.paths.fold_trailing_slash = true;
    } else {
      section.error("fold", "`" + fold + "` is not one of case or trailing_slash");
    }
  }
  section.finish();
}

void parse_workers(Section& root, Document& document) {
  const Node* const node = root.find("workers");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->text == "auto")) return;
  std::int64_t workers = 0;
  if (root.count("workers", workers, {1, 256})) document.workers = static_cast<std::size_t>(workers);
}

// A file's name, or a section: quotas that `weir push` publishes.
void parse_quota_origin(Section& root, Document& document) {
  const Node* const node = root.find("quotas");
  if (node == nullptr) return;
  std::string file;
  if (node->kind == Node::Kind::scalar) {
    if (root.text("quotas", file)) document.quotas_file = beside(document.weir_file, file);
    return;
  }
  pipeline::QuotaOrigin& origin = document.quota_origin;
  Section section(*node, "quotas", root.context());
  static constexpr Word<bool> from[] = {{"file", false}, {"store", true}};
  section.word("from", origin.from_store, from);
  if (section.text("file", file)) {
    document.quotas_file = beside(document.weir_file, file);
  } else if (section.find("file") == nullptr) {
    section.error("file", "is missing: the quotas that count until some are pushed");
  }
  std::string copy = "quotas.pushed.json";
  section.text("copy", copy);
  if (copy != "none") origin.copy = beside(document.weir_file, copy);
  section.duration("every", origin.every, {std::chrono::seconds(1), std::chrono::seconds(10)});
  section.finish();
}

}  // namespace

void parse_gateway(Section& root, Document& document) {
  if (root.text("node", document.node.value)) document.node.at = root.at("node");
  parse_workers(root, document);
  parse_listen(root, document);
  parse_admin(root, document);
  parse_client_address(root, document);
  parse_paths(root, document);
  parse_quota_origin(root, document);
}

void parse_weir(const Node& tree, Document& document, Context& context) {
  Section root(tree, "", context);
  std::int64_t version = 1;
  root.count("version", version, {1, 1});
  parse_gateway(root, document);
  parse_auth(root, document);
  parse_identity(root, document);
  parse_classes(root, document);
  parse_upstreams(root, document);
  parse_routes(root, document);
  parse_store(root, document);
  parse_client_limits(root, document);
  parse_answers(root, document);
  parse_log(root, document);
  root.finish();
}

}  // namespace weir::config
