#include "services/json/contract_object.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

namespace railweave::api::contract_object_test {

enum class Basis : unsigned char { per_port, per_job };
BOOST_DESCRIBE_ENUM(Basis, per_port, per_job)

struct Walked {
  std::uint64_t pairs = 0, lost = 0;
};
constexpr std::tuple kWalkedFields{field<"pairs">(&Walked::pairs), field<"lostPairs">(&Walked::lost)};

struct Tolerated {
  std::string key, value;
  friend bool operator==(const Tolerated&, const Tolerated&) = default;
};
constexpr auto kToleratedFields =
    request_fields<"Toleration">(required_field<"key">(&Tolerated::key), field<"value">(&Tolerated::value));

TEST(ContractObject, IsWrittenInTheOrderOfItsParts) {
  const Out link =
      object<"DirectedLink">(with<"to">("b"), with<"from">("a"), with<"link">(nullptr), with<"port">(std::string("p")));
  EXPECT_EQ(link.dump(), R"({"to":"b","from":"a","link":null,"port":"p"})");
}

TEST(ContractObject, LeavesOutWhatIsNotThere) {
  const auto toleration = [](bool has_value) {
    int made = 0;
    const Out out = object<"Toleration">(with<"key">("k"), maybe<"value">(has_value, [&] { return ++made; }));
    EXPECT_EQ(made, has_value ? 1 : 0);
    return out.dump();
  };
  EXPECT_EQ(toleration(true), R"({"key":"k","value":1})");
  EXPECT_EQ(toleration(false), R"({"key":"k"})");
  EXPECT_EQ(object<"Toleration">(without<"value">(), with<"key">("k")).dump(), R"({"key":"k"})");
}

TEST(ContractObject, ConsistsOfOthers) {
  const Walked walked{.pairs = 3, .lost = 1};
  EXPECT_EQ(object<"Walk">(several(with<"seenSince">(7), with<"at">(8)), fields_of(walked, kWalkedFields)).dump(),
            R"({"seenSince":7,"at":8,"pairs":3,"lostPairs":1})");
  const Out whole = object<"Walk">(
      part<"Walk">(object<"Walk">(with<"at">(1), with<"seenSince">(2), with<"pairs">(3), with<"lostPairs">(4))));
  EXPECT_EQ(whole.dump(), R"({"at":1,"seenSince":2,"pairs":3,"lostPairs":4})");
}

TEST(ContractObject, WritesEnumsByTheirTexts) {
  EXPECT_EQ(with<"basis">(Basis::per_job).value, "perJob");
  EXPECT_EQ(with<"basis">(std::optional(Basis::per_port)).value, "perPort");
  EXPECT_EQ(with<"basis">(std::optional<Basis>()).value, nullptr);
  EXPECT_EQ(EnumText().write(Basis::per_port), "perPort");
}

TEST(ContractObject, ReadsRequests) {
  const auto read = [](std::string_view body) { return read_request<Tolerated>(body, kToleratedFields); };
  EXPECT_EQ(read(R"({"value":"v","key":"k"})").value(), (Tolerated{"k", "v"}));
  EXPECT_EQ(read(R"({"key":"k"})").value(), (Tolerated{"k", ""}));
  EXPECT_FALSE(read("{}"));
  EXPECT_FALSE(read(R"({"key":"k","effect":"x"})"));
  EXPECT_FALSE(read("{"));
  EXPECT_EQ(or_none(""), "{}");
}

TEST(ContractObject, RefusesTextsThatTheEnumHasNot) {
  const auto read = [](const char* body) {
    const Json value = Json::parse(body);
    ObjectReader reader(value, "");
    Basis basis = Basis::per_port;
    EnumText{"basis"}.read(reader, "basis", basis);
    return std::pair(basis, reader.finish());
  };
  EXPECT_EQ(read(R"({"basis":"perJob"})").first, Basis::per_job);
  EXPECT_TRUE(read("{}").second);
  const auto refused = read(R"({"basis":"perWeek"})").second;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().location, "/basis");
  EXPECT_EQ(refused.error().message, "there is no basis 'perWeek'");
  EXPECT_EQ(refused.error().hint, "perPort or perJob");
}

}  // namespace railweave::api::contract_object_test
