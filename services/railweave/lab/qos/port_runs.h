// A set of ports as text: "leaf-1/1-64, leaf-2/1-64 and 30 more".
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace railweave::cli {

// Ports in the order in which they are added; consecutive ports of one device form a run.
struct PortRuns {
  static constexpr std::size_t kNamed = 4;
  struct Run {
    std::string device;
    unsigned first, last;
  };
  std::size_t count = 0;
  std::vector<Run> runs;

  void add(const std::string& device, unsigned port) {
    ++count;
    if (!runs.empty() && runs.back().device == device && runs.back().last + 1 == port) {
      runs.back().last = port;
    } else {
      runs.push_back({device, port, port});
    }
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(runs.size(), kNamed); ++i) {
      const Run& run = runs[i];
      text += (i > 0 ? ", " : "") + run.device + "/" + std::to_string(run.first);
      if (run.last > run.first) text += "-" + std::to_string(run.last);
    }
    if (runs.size() > kNamed) text += " and " + std::to_string(runs.size() - kNamed) + " more";
    return text;
  }
};

}  // namespace railweave::cli
