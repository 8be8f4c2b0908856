// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "app/command_line.hpp"

int main(int count, char** words) {
  return weir::app::run_command(std::vector<std::string>(words + 1, words + count));
}
