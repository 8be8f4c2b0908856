// SPDX-License-Identifier: Apache-2.0
// A quota file and the files it names as one document, which can stand in for them: what `weir push` puts
// into the store, and what a gateway keeps beside its configuration as the last good one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/files.hpp"
#include "pipeline/runtime.hpp"

namespace weir::config {

struct QuotaFiles {
  std::string main;  // the name of the quota file among `texts`
  FileTexts texts;
};

// A document is at most so large.
inline constexpr std::size_t kMostDocumentBytes = 16 * 1024 * 1024;

// JSON, the same for the same files. Error (nullopt): `why` says what cannot be pushed.
std::optional<std::string> to_document(const QuotaFiles& files, std::string& why);
// What stands in a version for the contents: eight hex digits.
std::string short_hash_of(const QuotaFiles& files);
std::string short_hash_of(std::string_view document);

struct PushedQuotas {
  std::string version;     // `sequence-hash`
  std::int64_t at_ms = 0;  // when it was published, by the store's clock
  pipeline::QuotaSource source = pipeline::QuotaSource::store;
  QuotaFiles files;
  std::string document;  // what `files` were made of
};

// From what the store holds. nullopt: `why` says what is wrong, for instance that the version's hash is not
// the document's: somebody wrote it by hand.
std::optional<PushedQuotas> read_pushed(std::string version, std::int64_t at_ms, std::string document,
                                        std::string& why);

// The copy on the disk. Written whole or not at all; false: `why`.
bool write_copy(const std::string& path, const PushedQuotas& quotas, std::string& why);
// nullopt without a word in `why`: there is none.
std::optional<PushedQuotas> read_copy(const std::string& path, std::string& why);

}  // namespace weir::config
