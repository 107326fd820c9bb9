#include "services/rest/json/guarantees/contract.h"

#include "services/control/codec/guarantee_json.h"
#include "services/json/contract_object.h"
#include "services/rest/json/rate_value.h"

namespace railweave::api {
namespace {

using scheduler::Contract;

// Decimal Gb/s; optional ones: null is none.
struct Gbps {
  static void read(ObjectReader& reader, std::string_view name, RateMbps& into) {
    if (const auto rate = read_gbps(reader, name)) into = *rate;
  }
  static void read(ObjectReader& reader, std::string_view name, std::optional<RateMbps>& into) {
    if (!reader.has(name)) return;
    if (const Json* value = reader.take(name); value != nullptr && !value->is_null()) into = read_gbps(reader, name);
  }
  static Out write(RateMbps rate) { return gbps_of(rate); }
  static Out write(const std::optional<RateMbps>& rate) { return rate ? write(*rate) : Out(nullptr); }
};

constexpr auto kTermsFields = request_fields<"ContractSpec">(
    field<"guaranteedGbps">(&Contract::guaranteed, Gbps()), field<"maxGbps">(&Contract::most, Gbps()),
    field<"basis">(&Contract::basis,
                   ByText{[](scheduler::RateBasis basis) { return to_text(basis); },
                          [](std::string_view text) { return parse_basis(text); }, "basis", "perPort or perJob"}),
    field<"model">(&Contract::promise, EnumText{"model"}),
    field<"surviveLinkFailure">(&Contract::survives_link_failure), field<"isolated">(&Contract::isolated),
    field<"isolation">(&Contract::isolation, EnumText{"isolation"}), field<"classes">(&Contract::classes, Strings{15}),
    field<"reservedPermille">(&Contract::reserved_permille), field<"maxGpus">(&Contract::max_gpus),
    field<"maxNvlinkDomains">(&Contract::max_nvlink_domains));

}  // namespace

Result<scheduler::Contract> read_contract(const std::string& tenant, std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  scheduler::Contract terms;
  terms.tenant = tenant;
  ObjectReader reader(*value, "");
  read_fields(reader, terms, kTermsFields);
  if (terms.most && (terms.most->value() == 0 || *terms.most < terms.guaranteed)) {
    reader.set_error("maxGbps", "must be above 0 and at least what is guaranteed");
  }
  if (terms.reserved_permille < 1 || terms.reserved_permille > 1000) {
    reader.set_error("reservedPermille", "must be 1 to 1000");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return terms;
}

std::string write_contract(const control::TenantContract& contract) {
  return dump(object<"Contract">(with<"id">(contract.terms.tenant), fields_of(contract.terms, kTermsFields),
                                 with<"pkey">(pkey_text(contract.pkey)), with<"version">(contract.version)));
}

Result<fabric::QosClasses> read_qos_classes(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  reader.require("items");
  const Json* items = reader.take("items");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return qos_classes_from_json(*items, "/items");
}

std::string write_qos_classes(const control::ClusterState& state) {
  return dump(object<"QosClasses">(with<"items">(to_json(*state.qos_classes)), with<"version">(state.qos_version)));
}

}  // namespace railweave::api
