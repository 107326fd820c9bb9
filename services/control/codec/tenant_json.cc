#include "services/control/codec/tenant_json.h"

namespace railweave::api {

Result<control::Tenant> tenant_from_json(const std::string& name, const Json& value) {
  control::Tenant tenant;
  tenant.name = name;
  ObjectReader reader(value, "");
  reader.read("description", tenant.description);
  reader.read("maxGpus", tenant.max_gpus);
  reader.read("quotaGpus", tenant.quota_gpus);
  reader.read("cohort", tenant.cohort);
  reader.read("borrowGpus", tenant.borrow_gpus);
  reader.read("weight", tenant.weight);
  std::string repair(to_string(tenant.repair));
  reader.read("repair", repair);
  if (repair == to_string(control::RepairPolicy::apply)) {
    tenant.repair = control::RepairPolicy::apply;
  } else if (repair != to_string(control::RepairPolicy::propose)) {
    reader.set_error("repair", "there is no repair policy " + shown(repair), "propose or apply");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return tenant;
}

Out to_json(const control::Tenant& tenant) {
  const auto optional = [](const std::optional<std::uint64_t>& gpus) { return gpus ? Out(*gpus) : Out(nullptr); };
  return {{"description", tenant.description},          {"maxGpus", optional(tenant.max_gpus)},
          {"quotaGpus", optional(tenant.quota_gpus)},   {"cohort", tenant.cohort},
          {"borrowGpus", optional(tenant.borrow_gpus)}, {"weight", tenant.weight},
          {"repair", to_string(tenant.repair)}};
}

}  // namespace railweave::api
