// SPDX-License-Identifier: Apache-2.0
// Runs one fuzz target over kept inputs, without libFuzzer: `fuzz_x FILE-OR-FOLDER...`. An input that breaks
// an invariant ends the process; its name is the last line printed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzzing.hpp"

namespace {

std::vector<std::filesystem::path> inputs_of(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t runs = 0;
  for (int n = 1; n < count; ++n) {
    for (const std::filesystem::path& file : inputs_of(arguments[n])) {
      std::ifstream stream(file, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      std::fprintf(stderr, "%s\n", file.filename().c_str());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++runs;
    }
  }
  std::fprintf(stderr, "%zu inputs\n", runs);
  return runs == 0 ? 2 : 0;
}
