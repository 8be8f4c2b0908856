// SPDX-License-Identifier: Apache-2.0
// config/*.schema.json know the keys that the parsers know, no more and no fewer. (That the shipped files are
// valid by them, tests/integration/test_intent.py shows.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "config/load.hpp"

namespace weir::config {
namespace {

namespace json = boost::json;

const std::string kConfig = WEIR_SOURCE_DIR "/config/";

void collect(const json::value& value, std::set<std::string>& out) {
  if (value.is_array()) {
    for (const json::value& one : value.get_array()) collect(one, out);
  }
  if (!value.is_object()) return;
  for (const auto& [name, inner] : value.get_object()) {
    collect(inner, out);
    if (name != "properties") continue;
    for (const auto& each : inner.get_object()) out.insert(each.key());
  }
}

std::set<std::string> schema_keys(const std::string& name) {
  std::ifstream file(kConfig + name);
  std::ostringstream text;
  text << file.rdbuf();
  std::set<std::string> out;
  collect(json::parse(text.str()), out);
  return out;
}

// Names that are a file's own: paths, what examples call their classes and regions; and the keys of an
// API-key file, which has no schema.
bool is_own_name(const std::string& key) {
  static const std::set<std::string> names{"eu",     "us",         "billing", "report", "alarm",
                                           "device", "other_apis", "keys",    "sha256", "tier"};
  return key.find('/') != std::string::npos || names.contains(key);
}

// The layers of the usual chain are keys of the schema; to the parsers they are names.
bool is_layer(const std::string& key) {
  static const std::set<std::string> names{"node",  "caller", "user",     "ip", "role",
                                           "class", "region", "upstream", "api"};
  return names.contains(key);
}

TEST(Schema, HasTheKeysThatTheParsersKnow) {
  std::set<std::string> known;
  for (const char* const file : {"everything", "saas", "tls", "gateway"}) {
    load(kConfig + "examples/" + file + ".weir.yaml", &known);
  }
  ASSERT_GT(known.size(), 100U);
  std::set<std::string> written = schema_keys("weir.schema.json");
  written.merge(schema_keys("quotas.schema.json"));
  for (const std::string& key : known) {
    if (!is_own_name(key)) EXPECT_TRUE(written.contains(key)) << key << " is in no config/*.schema.json";
  }
  for (const std::string& key : written) {
    if (!is_layer(key))
      EXPECT_TRUE(known.contains(key)) << key << " is in a schema, and no parser asks for it";
  }
}

}  // namespace
}  // namespace weir::config
