#include "services/json/signing_key.h"

#include <array>
#include <utility>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "fabric/base/check.h"
#include "services/json/digest.h"

namespace railweave::api {
namespace {

constexpr std::size_t kKeyBytes = 32, kSignatureBytes = 64;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

}  // namespace

class SigningKey::Secret {
 public:
  explicit Secret(EVP_PKEY* key) : key_(key) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { EVP_PKEY_free(key_); }
  [[nodiscard]] EVP_PKEY* get() const { return key_; }

 private:
  EVP_PKEY* key_;
};

SigningKey::SigningKey(std::shared_ptr<const Secret> secret, std::string public_pem, std::string id)
    : secret_(std::move(secret)), public_pem_(std::move(public_pem)), id_(std::move(id)) {}

Result<std::shared_ptr<const SigningKey>> SigningKey::from_pem(std::string_view pem) {
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  RAILWEAVE_CHECK(in != nullptr, "OpenSSL has memory");
  // Without a passphrase: asking for one would wait for a terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  auto secret = std::make_shared<Secret>(PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr));
  if (secret->get() == nullptr || EVP_PKEY_get_base_id(secret->get()) != EVP_PKEY_ED25519) {
    return fail(ErrorKind::invalid, "key.notEd25519", "this is no Ed25519 private key in PEM without a passphrase", {},
                "openssl genpkey -algorithm ed25519 makes one");
  }
  std::array<unsigned char, kKeyBytes> raw{};
  std::size_t size = raw.size();
  const Bio out(BIO_new(BIO_s_mem()));
  RAILWEAVE_CHECK(EVP_PKEY_get_raw_public_key(secret->get(), raw.data(), &size) == 1 && size == raw.size() &&
                      out != nullptr && PEM_write_bio_PUBKEY(out.get(), secret->get()) == 1,
                  "OpenSSL knows the public key of a private one");
  char* text = nullptr;
  const auto length = BIO_get_mem_data(out.get(), &text);
  std::string public_pem(text, static_cast<std::size_t>(length));
  std::string id = sha256_hex({reinterpret_cast<const char*>(raw.data()), raw.size()});
  return std::make_shared<const SigningKey>(std::move(secret), std::move(public_pem), std::move(id));
}

std::string SigningKey::sign(std::string_view bytes) const {
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  RAILWEAVE_CHECK(context != nullptr &&
                      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, secret_->get()) == 1 &&
                      EVP_DigestSign(context.get(), signature.data(), &size,
                                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1,
                  "an Ed25519 key signs");
  std::array<unsigned char, (kSignatureBytes + 2) / 3 * 4 + 1> text{};
  const int length = EVP_EncodeBlock(text.data(), signature.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

}  // namespace railweave::api
