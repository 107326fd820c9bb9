#include "api/dto/tenant_dto.h"

#include "api/dto/tenant_json.h"

namespace railweave::api {
namespace {

constexpr std::uint64_t kMaxGpusLimit = 1'000'000'000;

}  // namespace

Result<control::Tenant> tenant_from_json(const std::string& name, const Json& value) {
  control::Tenant tenant;
  tenant.name = name;
  ObjectReader reader(value, "");
  reader.read("description", tenant.description);
  reader.read("maxGpus", tenant.max_gpus);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return tenant;
}

Out to_json(const control::Tenant& tenant) {
  return {{"description", tenant.description}, {"maxGpus", tenant.max_gpus ? Out(*tenant.max_gpus) : Out(nullptr)}};
}

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
  auto tenant = tenant_from_json(name, *value);
  if (tenant && tenant->description.size() > 1000) {
    return fail(ErrorKind::invalid, "body.invalidField", "the description is longer than 1000 bytes", "/description");
  }
  if (tenant && tenant->max_gpus > kMaxGpusLimit) {
    return fail(ErrorKind::invalid, "body.invalidField",
                "a limit of more than " + std::to_string(kMaxGpusLimit) + " GPUs is none", "/maxGpus",
                "leave it out, or say null, for no limit");
  }
  return tenant;
}

std::string write_tenant(const control::Tenant& tenant, std::uint64_t held_gpus) {
  Out value{{"id", tenant.name}};
  value.update(to_json(tenant));
  value["gpusHeld"] = held_gpus;
  value["version"] = tenant.version;
  return dump(value);
}

}  // namespace railweave::api
