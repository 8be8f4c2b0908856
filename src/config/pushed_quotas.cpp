// SPDX-License-Identifier: Apache-2.0
#include "config/pushed_quotas.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "base/hash.hpp"

namespace weir::config {

namespace {

namespace json = boost::json;

constexpr std::int64_t kFormat = 1;

std::string text_at(const json::object& object, std::string_view key) {
  const json::value* const found = object.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::optional<json::object> read_object(std::string_view text, std::string& why) {
  json::error_code failure;
  json::value value = json::parse(text, failure);
  if (failure || !value.is_object()) {
    why = failure ? "is not JSON: " + failure.message() : "is not a JSON object";
    return std::nullopt;
  }
  const json::value* const format = value.get_object().if_contains("format");
  if (format == nullptr || !format->is_int64() || format->get_int64() != kFormat) {
    why = "is in a format that this version does not know";
    return std::nullopt;
  }
  return std::move(value.get_object());
}

std::optional<QuotaFiles> read_files(const json::object& object, std::string& why) {
  QuotaFiles files{text_at(object, "quotas"), {}};
  const json::value* const texts = object.if_contains("files");
  if (texts != nullptr && texts->is_object()) {
    for (const auto& [name, text] : texts->get_object()) {
      if (text.is_string()) files.texts[std::string(name)] = std::string(text.get_string());
    }
  }
  if (files.texts.contains(files.main)) return files;
  why = "holds no quota file";
  return std::nullopt;
}

// All of it, on the disk. False: errno says why.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file) == 0;
}

}  // namespace

std::optional<std::string> to_document(const QuotaFiles& files, std::string& why) {
  json::object texts;
  for (const auto& [name, text] : files.texts) texts[name] = text;
  const json::object object{{"format", kFormat}, {"quotas", files.main}, {"files", std::move(texts)}};
  std::string document = json::serialize(object);
  json::error_code failure;
  json::parse(document, failure);
  if (failure) {
    why = "is not text: " + failure.message();
    return std::nullopt;
  }
  if (document.size() > kMostDocumentBytes) {
    why = "is larger than 16 MiB with the files it names";
    return std::nullopt;
  }
  return document;
}

std::string short_hash_of(const QuotaFiles& files) {
  std::uint64_t hash = 0;
  for (const auto& [name, text] : files.texts) hash = stable_hash(text, hash);
  return short_hash(hash);
}

std::string short_hash_of(std::string_view document) {
  return short_hash(stable_hash(document));
}

std::optional<PushedQuotas> read_pushed(std::string version, std::int64_t at_ms, std::string document,
                                        std::string& why) {
  if (!version.ends_with("-" + short_hash_of(document))) {
    why = "is not what its version says: it was not written by `weir push`";
    return std::nullopt;
  }
  const std::optional<json::object> object = read_object(document, why);
  std::optional<QuotaFiles> files = object ? read_files(*object, why) : std::nullopt;
  if (!files) return std::nullopt;
  return PushedQuotas{std::move(version), at_ms, pipeline::QuotaSource::store, std::move(*files),
                      std::move(document)};
}

bool write_copy(const std::string& path, const PushedQuotas& quotas, std::string& why) {
  const json::object object{{"format", kFormat},
                            {"version", quotas.version},
                            {"at_ms", quotas.at_ms},
                            {"document", quotas.document}};
  const std::string fresh = path + ".new";
  const int file =
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP);
  const bool written = file >= 0 && write_all(file, json::serialize(object));
  int failure = written ? 0 : errno;
  if (file >= 0) ::close(file);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return true;
  why = std::strerror(failure);
  ::unlink(fresh.c_str());
  return false;
}

std::optional<PushedQuotas> read_copy(const std::string& path, std::string& why) {
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  Files files;
  const std::optional<std::string> bytes = files.read(path, why);
  const std::optional<json::object> object = bytes ? read_object(*bytes, why) : std::nullopt;
  if (!object) return std::nullopt;
  const json::value* const at = object->if_contains("at_ms");
  const std::int64_t at_ms = at != nullptr && at->is_int64() ? at->get_int64() : 0;
  auto quotas = read_pushed(text_at(*object, "version"), at_ms, text_at(*object, "document"), why);
  if (quotas) quotas->source = pipeline::QuotaSource::copy;
  return quotas;
}

}  // namespace weir::config
