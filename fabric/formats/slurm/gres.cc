#include "fabric/formats/slurm/gres.h"

#include <cstddef>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {

GresGpus gpus_of_gres(std::string_view gres) {
  GresGpus gpus;
  while (!gres.empty()) {
    std::size_t end = 0;  // commas in parentheses are of sockets
    for (int depth = 0; end < gres.size() && (depth > 0 || gres[end] != ','); ++end) {
      depth += gres[end] == '(' ? 1 : gres[end] == ')' ? -1 : 0;
    }
    std::string_view item = gres.substr(0, end);
    gres.remove_prefix(end == gres.size() ? end : end + 1);
    item = item.substr(0, item.find('('));
    if (!item.starts_with("gpu:") && item != "gpu") continue;
    const auto last = item.rfind(':');
    const std::string_view number = last == std::string_view::npos ? std::string_view() : item.substr(last + 1);
    const auto count = whole_number<unsigned>(number);
    gpus.count += count.value_or(1);
    const auto first = item.find(':');
    if (gpus.model.empty() && first != last) gpus.model = item.substr(first + 1, last - first - 1);
    if (gpus.model.empty() && !count && first != std::string_view::npos) gpus.model = item.substr(first + 1);
  }
  return gpus;
}

}  // namespace railweave::fabric
