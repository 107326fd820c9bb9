#include "services/verify/signature.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "services/verify/network.h"

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSignatureBytes = 64;

// Where the last line begins, if it is of a signature.
std::size_t signature_line(const std::string& certificate) {
  const auto at = certificate.rfind("\n\"signature\":");
  return at == std::string::npos || certificate.find('\n', at + 1) + 1 != certificate.size() ? std::string::npos
                                                                                             : at + 1;
}

std::vector<unsigned char> from_base64(const std::string& text) {
  std::vector<unsigned char> bytes(text.size() / 4 * 3 + 3);
  const int size = text.size() % 4 != 0
                       ? -1
                       : EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                                         static_cast<int>(text.size()));
  if (size < 0) return {};
  bytes.resize(static_cast<std::size_t>(size));
  // OpenSSL counts the padding too.
  for (std::size_t i = text.size(); i > 0 && text[i - 1] == '=' && !bytes.empty(); --i) bytes.pop_back();
  return bytes;
}

std::shared_ptr<EVP_PKEY> public_key(const std::string& path) {
  const std::string pem = file_text(path);
  BIO* const bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PUBKEY(bio, nullptr, nullptr, nullptr), EVP_PKEY_free);
  BIO_free(bio);
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    throw std::runtime_error(path + ": no Ed25519 public key in PEM");
  }
  return key;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) {
      throw std::runtime_error("OpenSSL has no SHA-256");
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::add(const std::string& bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", digest[i]);
    text += digits.data();
  }
  return text;
}

namespace {

// SHA-256 of the 32 bytes of the public key.
std::string key_id(EVP_PKEY* key) {
  std::array<unsigned char, 32> raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1) return {};
  Sha256 digest;
  digest.add(std::string(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(size)));
  return digest.hex();
}

}  // namespace

bool is_signed(const std::string& certificate) { return signature_line(certificate) != std::string::npos; }

void check_signature(const std::string& certificate, const std::string& public_key_file, Verdict& verdict) {
  const auto key = public_key(public_key_file);
  const std::size_t at = signature_line(certificate);
  if (at == std::string::npos) return verdict.fault("the certificate is not signed");
  // Nothing but the signature may stand in the line that it does not cover.
  const Json line = Json::parse("{" + certificate.substr(at), nullptr, false);
  if (!line.is_object() || line.size() != 1 || !line.at("signature").is_object() ||
      line.at("signature").value("algorithm", "") != "ed25519") {
    return verdict.fault("the certificate's last line is not of an Ed25519 signature alone");
  }
  if (line.at("signature").size() != 3 || line.at("signature").value("key", "") != key_id(key.get())) {
    verdict.fault("the certificate's signature names another key than " + public_key_file);
  }
  const auto signature = from_base64(line.at("signature").value("value", ""));
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const bool good = signature.size() == kSignatureBytes &&
                    EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, key.get()) == 1 &&
                    EVP_DigestVerify(context, signature.data(), signature.size(),
                                     reinterpret_cast<const unsigned char*>(certificate.data()), at) == 1;
  EVP_MD_CTX_free(context);
  if (!good) {
    verdict.fault("the certificate's signature is not of " + public_key_file +
                  ": it was changed, or another key signed it (" + line.at("signature").value("key", "") + ")");
  }
}

}  // namespace railweave::verify
