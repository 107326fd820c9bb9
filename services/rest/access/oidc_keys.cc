#include "services/rest/access/oidc_keys.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include <cjose/cjose.h>

#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMinRsaBytes = 256;  // of the modulus

struct ReleaseJws {
  void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }
};
using Jws = std::unique_ptr<cjose_jws_t, ReleaseJws>;

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The algorithm that a key is for; none: it is of no use here.
std::optional<std::string> algorithm_of(const Json& key) {
  if (!key.is_object() || key.contains("d") || key.contains("k"))
    return std::nullopt;  // private ones are no one's to publish
  if (const auto use = text_of(key, "use"); !use.empty() && use != "sig") return std::nullopt;
  const std::string named = text_of(key, "alg"), type = text_of(key, "kty");
  std::string algorithm;
  if (type == "RSA" && text_of(key, "n").size() * 3 / 4 >= kMinRsaBytes) algorithm = "RS256";
  if (type == "EC" && text_of(key, "crv") == "P-256") algorithm = "ES256";
  if (algorithm.empty() || (!named.empty() && named != algorithm)) return std::nullopt;
  return algorithm;
}

}  // namespace

struct KeySet::Key {
  Key(std::string name, std::string algorithm_name, cjose_jwk_t* made)
      : id(std::move(name)), algorithm(std::move(algorithm_name)), jwk(made) {}
  ~Key() { cjose_jwk_release(jwk); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  const std::string id, algorithm;
  cjose_jwk_t* const jwk;
};

KeySet::KeySet() = default;
KeySet::~KeySet() = default;

Result<std::shared_ptr<KeySet>> KeySet::parse(std::string_view document) {
  if (document.size() > kMaxBytes) return fail(ErrorKind::tooLarge, "oidc.keys", "the keys are more than a MiB");
  const auto value = parse_json(document);
  if (!value) return std::unexpected(value.error());
  const auto list = value->is_object() ? value->find("keys") : value->end();
  if (!value->is_object() || list == value->end() || !list->is_array() || list->size() > kMaxKeys) {
    return fail(ErrorKind::malformed, "oidc.keys", "this is no list of keys: {\"keys\": [...]}");
  }
  auto set = std::make_shared<KeySet>();
  for (const auto& key : *list) {
    const auto algorithm = algorithm_of(key);
    if (!algorithm) continue;
    const std::string text = key.dump();
    cjose_err error{};
    cjose_jwk_t* jwk = cjose_jwk_import(text.data(), text.size(), &error);
    if (jwk != nullptr) set->keys_.push_back(std::make_unique<Key>(text_of(key, "kid"), *algorithm, jwk));
  }
  if (set->keys_.empty()) {
    return fail(ErrorKind::invalid, "oidc.keys", "no key of these is for RS256 (2,048 bits) or ES256");
  }
  return set;
}

const KeySet::Key* KeySet::find(std::string_view id, std::string_view algorithm) const {
  const Key* found = nullptr;
  for (const auto& key : keys_) {
    if (key->algorithm != algorithm) continue;
    if (!id.empty() && key->id == id) return key.get();
    if (id.empty() && found != nullptr) return nullptr;  // it could be any of them
    if (id.empty()) found = key.get();
  }
  return found;
}

std::expected<std::string, KeySet::Refusal> KeySet::verify(std::string_view text) const {
  cjose_err error{};
  const Jws jws(cjose_jws_import(text.data(), text.size(), &error));
  if (!jws) return std::unexpected(Refusal::malformed);
  cjose_header_t* header = cjose_jws_get_protected(jws.get());
  const auto field = [&](const char* name) {
    const char* value = cjose_header_get(header, name, &error);
    return std::string(value == nullptr ? "" : value);
  };
  // Extensions that must be understood are not, and what a token says of its own key is not looked at.
  char* critical = cjose_header_get_raw(header, "crit", &error);
  const bool has_critical = critical != nullptr;
  std::free(critical);  // NOLINT: the library's way
  if (has_critical) return std::unexpected(Refusal::malformed);
  const std::string algorithm = field("alg");
  if (algorithm != "RS256" && algorithm != "ES256") return std::unexpected(Refusal::algorithm);
  const std::lock_guard lock(mutex_);
  const Key* key = find(field("kid"), algorithm);
  if (key == nullptr) return std::unexpected(Refusal::unknown_key);
  if (!cjose_jws_verify(jws.get(), key->jwk, &error)) return std::unexpected(Refusal::signature);
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(jws.get(), &bytes, &size, &error)) return std::unexpected(Refusal::malformed);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

}  // namespace railweave::api
