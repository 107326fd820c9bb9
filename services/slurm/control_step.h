// The steps by which a site hands jobs over to Railweave, of the whole cluster or of single partitions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::slurm {

// What Slurm lets Railweave decide; the first two change no job's nodes or time.
enum class Step : std::uint8_t { observe, order, place };

std::string_view to_string(Step step);
std::optional<Step> step_of(std::string_view text);

struct Steps {
  Step cluster = Step::place;
  std::map<std::string, Step> partitions;  // others than the cluster's

  // Of a job; names: its partitions, with commas where it may run in several. Of several steps the one that decides least.
  [[nodiscard]] Step of(std::string_view names) const;
};

// "debug=observe"
Result<void> add_partition_step(std::string_view text, Steps& steps);

}  // namespace railweave::slurm
