#include "services/railweave/assess/pod_fields.h"

#include <algorithm>

#include "fabric/base/whole_number.h"

namespace railweave::cli {

std::string string_of(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

std::uint32_t gpus_of_pod(const Json& pod) {
  std::uint64_t gpus = 0;
  for (const Json& container : list(field(pod, "spec"), foreign("containers"))) {
    const Json& limits = field(field(container, foreign("resources")), foreign("limits"));
    for (const char* name : {"nvidia.com/gpu", "amd.com/gpu"}) {
      const Json& count = field(limits, foreign(name));
      if (count.is_number_unsigned()) gpus += count.get<std::uint64_t>();
      if (count.is_string()) gpus += whole_number<std::uint64_t>(count.get_ref<const std::string&>()).value_or(0);
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, UINT16_MAX));
}

std::string owner_of_pod(const Json& metadata) {
  const Json& labels = field(metadata, "labels");
  for (const char* name :
       {"leaderworkerset.sigs.k8s.io/name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
        "volcano.sh/job-name", "batch.kubernetes.io/job-name", "ray.io/cluster"}) {
    if (const Json& owner = field(labels, foreign(name)); owner.is_string()) return owner.get<std::string>();
  }
  const Json& owners = list(metadata, foreign("ownerReferences"));
  return owners.empty() ? string_of(field(metadata, "name")) : string_of(field(owners.front(), "name"));
}

std::string index_of_pod(const Json& metadata) {
  for (const char* name : {"batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index",
                           "leaderworkerset.sigs.k8s.io/worker-index"}) {
    for (const char* part : {"annotations", "labels"}) {
      const Json& value = field(field(metadata, foreign(part)), foreign(name));
      if (value.is_string()) return value.get<std::string>();
    }
  }
  return {};
}

}  // namespace railweave::cli
