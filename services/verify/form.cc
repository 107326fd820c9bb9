#include "services/verify/form.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

class Form {
 public:
  explicit Form(Verdict& verdict) : verdict_(verdict) {}

  using Check = std::function<void(const Json&, const std::string& where)>;
  struct Field {
    const char* name;
    Check check;
    bool is_optional = false;
  };

  [[nodiscard]] Check number(std::uint64_t most = kMost) {
    return [this, most](const Json& value, const std::string& where) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
        wrong(where, fmt::format("a whole number from 0 to {}", most));
    };
  }
  [[nodiscard]] Check text() {
    return [this](const Json& value, const std::string& where) {
      if (!value.is_string()) wrong(where, "a text");
    };
  }
  [[nodiscard]] Check flag() {
    return [this](const Json& value, const std::string& where) {
      if (!value.is_boolean()) wrong(where, "true or false");
    };
  }
  [[nodiscard]] Check constant(Json wanted) {
    return [this, wanted = std::move(wanted)](const Json& value, const std::string& where) {
      if (value.type() != wanted.type() || value != wanted) wrong(where, wanted.dump());
    };
  }
  [[nodiscard]] Check list(Check of_each, std::size_t exactly = SIZE_MAX) {
    return [this, exactly, of_each = std::move(of_each)](const Json& value, const std::string& where) {
      if (!value.is_array()) return wrong(where, "a list");
      if (exactly != SIZE_MAX && value.size() != exactly) wrong(where, fmt::format("a list of {}", exactly));
      for (std::size_t i = 0; i < value.size(); ++i) of_each(value[i], fmt::format("{}/{}", where, i));
    };
  }
  [[nodiscard]] Check record(std::vector<Field> fields) {
    return [this, fields = std::move(fields)](const Json& value, const std::string& where) {
      if (!value.is_object()) return wrong(where, "an object");
      for (const Field& field : fields) {
        const auto at = value.find(field.name);
        if (at != value.end()) {
          field.check(*at, where + "/" + field.name);
        } else if (!field.is_optional) {
          verdict_.fault("the certificate: " + where + "/" + field.name + " is missing");
        }
      }
      for (const auto& [name, ignored] : value.items()) {
        const auto is_it = [&](const Field& field) { return name == field.name; };
        if (std::ranges::any_of(fields, is_it)) continue;
        verdict_.fault("the certificate: " + where + "/" + name + " is nothing that is checked");
      }
    };
  }

 private:
  static constexpr std::uint64_t kMost = 1ULL << 53U;

  void wrong(const std::string& where, const std::string& wanted) {
    verdict_.fault("the certificate: " + where + " is not " + wanted);
  }

  Verdict& verdict_;
};

}  // namespace

void check_form(const Json& certificate, Verdict& verdict) {
  constexpr std::uint64_t kMaxPermille = 1000, kMaxLevel = 15, kMaxLane = 14, kMaxLid = 0xbfff, kMaxWeight = 255;
  Form form(verdict);
  const auto levels = form.list(form.number(kMaxLevel));
  const auto permille = form.number(kMaxPermille);
  const auto lid = form.number(kMaxLid);
  constexpr bool kOptional = true;
  const auto port = form.record(
      {{"port", form.text()}, {"portLid", lid}, {"sendMbps", form.number()}, {"receiveMbps", form.number()}});
  const auto flow = form.record(
      {{"from", form.text()}, {"fromLid", lid}, {"to", form.text()}, {"toLid", lid}, {"mbps", form.number()}});
  const auto job = form.record({{"job", form.text()},
                                {"tenant", form.text()},
                                {"class", form.text()},
                                {"promise", form.text()},
                                {"reservedPermille", permille},
                                {"survivesLinkFailure", form.flag()},
                                {"lane", form.number(kMaxLane), kOptional},
                                {"serviceLevels", levels, kOptional},
                                {"ports", form.list(port), kOptional},
                                {"flows", form.list(flow), kOptional}});
  const auto owner =
      form.record({{"lane", form.number(kMaxLane)}, {"job", form.text()}, {"reservedMbps", form.number()}});
  const auto link = form.record({{"from", form.text()},
                                 {"to", form.text()},
                                 {"capacityMbps", form.number()},
                                 {"reservedMbps", form.list(form.number())},
                                 {"lanes", form.list(owner), kOptional},
                                 {"turns", form.list(form.list(form.number(kMaxWeight), 3)), kOptional},
                                 {"weights", form.list(form.number()), kOptional}});
  const auto whole = form.record(
      {{"railweave", form.constant("certificate")},
       {"version", form.constant(2U)},
       {"seq", form.number()},
       {"routes", form.record({{"format", form.constant("opensm.fdbs")}, {"fnv1a64", form.text()}})},
       {"usablePermille", permille},
       {"ports", form.record({{"arbitrationEntries", form.number()},
                              {"mtuBytes", form.number()},
                              {"largestPacketBytes", form.number()},
                              {"from", form.text()},
                              {"refused", form.text()}})},
       {"classes", form.list(form.record(
                       {{"name", form.text()}, {"sharePermille", permille}, {"serviceLevels", levels, kOptional}}))},
       {"linksDown", form.list(form.text())},
       {"spread", form.list(form.record({{"subnet", form.text()}, {"spread", form.text()}})), kOptional},
       {"jobs", form.list(job)},
       {"links", form.list(link)},
       {"signature", form.record({{"algorithm", form.text()}, {"key", form.text()}, {"value", form.text()}}),
        kOptional}});
  whole(certificate, "");
}

}  // namespace railweave::verify
