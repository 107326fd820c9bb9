// Taints: labels by which a node keeps jobs away that do not tolerate them. A label `taint/dedicated` with the value `research` is the
// taint dedicated=research. Ranks that run on a node when it gets a taint stay; none comes to it any more.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace railweave::scheduler {

constexpr std::string_view kTaintPrefix = "taint/";

struct Toleration {
  std::string key;                   // without the prefix
  std::optional<std::string> value;  // none: every value
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

// Whether a label with this key and value keeps the job away: it is a taint that none of them is for.
inline bool repels(std::string_view key, std::string_view value, std::span<const Toleration> tolerations) {
  if (!key.starts_with(kTaintPrefix)) return false;
  key.remove_prefix(kTaintPrefix.size());
  return std::ranges::none_of(tolerations, [&](const Toleration& toleration) {
    return toleration.key == key && (!toleration.value || *toleration.value == value);
  });
}

}  // namespace railweave::scheduler
