// tc_probe INTERFACE LINK_MBPS NAME:DSCP:RATE:CEILING...   prints the driver's tc commands, one a line
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "fabric/drivers/linux_tc/tc_commands.h"

int main(int argc, char** argv) {
  using namespace railweave;  // NOLINT
  if (argc < 4) return 2;
  std::vector<fabric::linux_tc::TcClass> classes;
  for (int i = 3; i < argc; ++i) {
    char name[32];
    unsigned dscp = 0, rate = 0, ceiling = 0;
    if (std::sscanf(argv[i], "%31[^:]:%u:%u:%u", name, &dscp, &rate, &ceiling) != 4) return 2;
    classes.push_back(
        {.name = name, .dscp = static_cast<std::uint8_t>(dscp), .rate = RateMbps(rate), .ceiling = RateMbps(ceiling)});
  }
  const auto commands = fabric::linux_tc::htb_commands(argv[1], RateMbps(std::atoi(argv[2])), classes);
  if (!commands) {
    std::cerr << commands.error().text() << "\n";
    return 1;
  }
  for (const auto& command : *commands) std::cout << command << "\n";
}
