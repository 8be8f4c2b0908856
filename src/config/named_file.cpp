// SPDX-License-Identifier: Apache-2.0
// Files that the configuration names. All are read through Files, so all are watched.
#include "config/parse.hpp"
#include "net/tls_certificate.hpp"

namespace weir::config {

std::optional<NamedFile> read_named_file(Section& section, std::string_view key, const std::string& from) {
  std::string name;
  if (!section.text(key, name)) return std::nullopt;
  const std::string path = beside(from, name);
  std::string why;
  std::optional<std::string> bytes = section.context().files.read(path, why);
  if (!bytes) {
    section.error(key, "cannot read " + path + ": " + why);
    return std::nullopt;
  }
  return NamedFile{path, std::move(*bytes)};
}

bool read_tls_file(Section& section, std::string_view key, const std::string& from, net::TlsFile& out) {
  auto file = read_named_file(section, key, from);
  if (!file) return false;
  out = {std::move(file->path), std::move(file->bytes)};
  return true;
}

bool read_secret_file(Section& section, std::string_view key, const std::string& weir_file,
                      std::string& out) {
  const auto file = read_named_file(section, key, weir_file);
  if (!file) return false;
  const std::string first = file->bytes.substr(0, file->bytes.find_first_of("\r\n"));
  if (first.empty()) {
    section.error(key, file->path + " has an empty first line; the secret is expected there");
    return false;
  }
  out = first;
  return true;
}

}  // namespace weir::config
