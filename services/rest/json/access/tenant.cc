#include "services/rest/json/access/tenant.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"
#include "services/control/codec/tenant_json.h"
#include "services/json/contract_object.h"

namespace railweave::api {
namespace {

using control::Tenant;

constexpr std::uint64_t kMaxGpusLimit = 1'000'000'000;

constexpr auto kTenantTerms = fields<"TenantSpec">(
    field<"description">(&Tenant::description), field<"maxGpus">(&Tenant::max_gpus),
    field<"quotaGpus">(&Tenant::quota_gpus), field<"cohort">(&Tenant::cohort),
    field<"borrowGpus">(&Tenant::borrow_gpus), field<"weight">(&Tenant::weight),
    field<"repair">(&Tenant::repair, EnumText{"repair policy"}), field<"repairAfterSeconds">(&Tenant::repair_after_s),
    field<"maxPriority">(&Tenant::max_priority), field<"moves">(&Tenant::moves));

}  // namespace

Result<control::Tenant> read_tenant(const std::string& name, std::string_view body) {
  const bool plain =
      !name.empty() && name.size() <= 63 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == std::string::npos;
  if (!plain) {
    return fail(ErrorKind::invalid, "tenants.badName", "a tenant cannot be called that", {},
                "1 to 63 letters, digits, '-', '_' or '.'");
  }
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  auto tenant = record_from_json(*value, "", kTenantTerms, Tenant{.name = name});
  if (tenant && tenant->description.size() > 1000) {
    return fail(ErrorKind::invalid, "body.invalidField", "the description is longer than 1000 bytes", "/description");
  }
  if (!tenant) return tenant;
  for (const auto& [gpus, where] :
       {std::pair(tenant->max_gpus, "/maxGpus"), std::pair(tenant->quota_gpus, "/quotaGpus"),
        std::pair(tenant->borrow_gpus, "/borrowGpus")}) {
    if (gpus > kMaxGpusLimit) {
      return fail(ErrorKind::invalid, "body.invalidField",
                  fmt::format("a limit of more than {} GPUs is not accepted", kMaxGpusLimit), where,
                  "leave it out, or use null, for no limit");
    }
  }
  const auto wrong = [](std::string message, std::string where, std::string hint) {
    return fail(ErrorKind::invalid, "body.invalidField", std::move(message), std::move(where), std::move(hint));
  };
  if (!(tenant->weight >= control::Tenant::kLeastWeight && tenant->weight <= control::Tenant::kMaxWeight)) {
    return wrong("the weight of a fair share is at least 0.000001 and at most 1000000", "/weight", "the default is 1");
  }
  if (tenant->repair_after_s > 86'400) {
    return wrong("repairs wait for at most a day", "/repairAfterSeconds", "the default is 30");
  }
  if (tenant->cohort.size() > 63 || !is_printable_utf8(tenant->cohort)) {
    return wrong("the name of a cohort is printable and at most 63 bytes long", "/cohort", "");
  }
  if (!tenant->quota_gpus && (!tenant->cohort.empty() || tenant->borrow_gpus)) {
    return wrong("borrowing and lending need a quota", "/quotaGpus",
                 "set quotaGpus: the GPUs that the tenant may always have");
  }
  if (tenant->quota_gpus && tenant->max_gpus && *tenant->quota_gpus > *tenant->max_gpus) {
    return wrong("the quota is more than the tenant may hold", "/quotaGpus", "at most maxGpus");
  }
  return tenant;
}

std::string write_tenant(const control::Tenant& tenant, std::uint64_t held_gpus) {
  Out terms = to_json(tenant);  // as the journal has them, then what it leaves out
  write_fields(terms, tenant, kTenantTerms);
  return dump(object<"Tenant">(with<"id">(tenant.name), whole_part<"TenantSpec">(std::move(terms)),
                               with<"gpusHeld">(held_gpus), with<"version">(tenant.version)));
}

}  // namespace railweave::api
