#include "services/control/codec/tenant_json.h"

#include "services/json/record.h"

namespace railweave::api {
namespace {

using control::RepairPolicy;
using control::Tenant;

constexpr Names<RepairPolicy, 2> kRepairPolicies{{{"propose", RepairPolicy::propose}, {"apply", RepairPolicy::apply}}};
constexpr std::tuple kTenantFields{field("description", &Tenant::description),
                                   field("maxGpus", &Tenant::max_gpus),
                                   field("quotaGpus", &Tenant::quota_gpus),
                                   field("cohort", &Tenant::cohort),
                                   field("borrowGpus", &Tenant::borrow_gpus),
                                   field("weight", &Tenant::weight),
                                   field("repair", &Tenant::repair, OneOf{kRepairPolicies, "repair policy"}),
                                   optional_field("repairAfterSeconds", &Tenant::repair_after_s),
                                   optional_field("maxPriority", &Tenant::max_priority),
                                   optional_field("moves", &Tenant::moves)};

}  // namespace

Result<Tenant> tenant_from_json(const std::string& name, const Json& value) {
  Tenant tenant;
  tenant.name = name;
  return record_from_json(value, "", kTenantFields, std::move(tenant));
}

Out to_json(const Tenant& tenant) { return fields_json(tenant, kTenantFields); }

}  // namespace railweave::api
