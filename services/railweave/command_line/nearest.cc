#include "services/railweave/command_line/nearest.h"

#include <algorithm>
#include <vector>

namespace railweave::cli {
namespace {

// Of optimal string alignment, by rows of its table.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLettersPerSlip = 3;
  constexpr std::size_t kLongest = 64;  // a longer word is no slip
  if (word.size() < kLettersPerSlip || word.size() > kLongest) return {};
  std::string best;
  std::size_t fewest = std::min<std::size_t>(word.size() / kLettersPerSlip, 2) + 1;
  for (const auto& candidate : candidates) {
    if (const std::size_t count = slips(word, candidate); count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace railweave::cli
