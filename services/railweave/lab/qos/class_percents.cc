#include "services/railweave/lab/qos/class_percents.h"

#include <algorithm>
#include <utility>

namespace railweave::cli {

std::vector<unsigned> class_percents(const fabric::QosClasses& classes) {
  double all = 0;
  for (const auto& one : classes) all += one.share_permille;
  std::vector<unsigned> result;
  std::vector<std::pair<double, std::size_t>> remainders;
  int missing = 100;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double exact = 100.0 * classes[c].share_permille / all;
    result.push_back(std::max(1U, static_cast<unsigned>(exact)));
    missing -= static_cast<int>(result.back());
    remainders.emplace_back(exact - result.back(), c);
  }
  std::ranges::sort(remainders, std::ranges::greater{});
  for (std::size_t i = 0; missing > 0; --missing, ++i) ++result[remainders[i % remainders.size()].second];
  for (; missing < 0; ++missing) --*std::ranges::max_element(result);
  return result;
}

std::vector<std::size_t> lossless_classes(const fabric::QosClasses& classes, std::vector<std::string>& notes) {
  auto lossless = fabric::lossless_on_ethernet(classes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!classes[c].lossless || std::ranges::find(lossless, c) != lossless.end()) continue;
    notes.push_back("class " + classes[c].name +
                    " is not lossless on Ethernet, where buffers hold only two such classes");
  }
  return lossless;
}

}  // namespace railweave::cli
