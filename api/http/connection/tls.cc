#include "api/http/connection/tls.h"

#include <ctime>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace railweave::api {
namespace {

constexpr std::chrono::seconds kLookInterval{1};

int choose_http(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                unsigned offered_size, void* /*context*/) {
  static constexpr unsigned char kHttp[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kHttp, sizeof kHttp, offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

std::unexpected<Error> unusable(const char* what, const std::filesystem::path& file, const ErrorCode& error) {
  return fail(ErrorKind::invalid, "http.tlsFile", fmt::format("{}: {}", what, error.message()), file.string(),
              "a certificate chain and its key in PEM, as tls_certificate and tls_key name them");
}

std::string text_of(const ASN1_STRING* value) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, value);
  if (size < 0) return {};
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text.find('\0') == std::string::npos ? text : std::string();  // "a.example\0.evil" is no name
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> alternatives(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (one->type != GEN_DNS && one->type != GEN_EMAIL && one->type != GEN_URI) continue;
    if (auto name = text_of(one->d.ia5); !name.empty()) names.push_back(std::move(name));
  }
  if (!names.empty()) return names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return names;
  auto name = text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

// Lists of revocations count where there are any: each authority then needs one.
bool has_revocations(SSL_CTX* context) {
  const STACK_OF(X509_OBJECT)* all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i) {
    if (X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i)) != nullptr) return true;
  }
  return false;
}

Result<void> ask_for_certificates(SSL_CTX* context, const std::filesystem::path& client_ca) {
  auto* names = SSL_load_client_CA_file(client_ca.c_str());
  if (names == nullptr || SSL_CTX_load_verify_locations(context, client_ca.c_str(), nullptr) != 1) {
    if (names != nullptr) sk_X509_NAME_pop_free(names, X509_NAME_free);
    ERR_clear_error();
    return fail(ErrorKind::invalid, "http.tlsFile", "the authorities of clients cannot be read", client_ca.string(),
                "certificates in PEM, as tls_client_ca names them");
  }
  SSL_CTX_set_client_CA_list(context, names);  // takes them
  if (has_revocations(context)) X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_CRL_CHECK);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // Who a client is, is asked with each connection: an authority that is removed lets no session of before in.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return {};
}

}  // namespace

void read_certificate(TlsStream& stream, Peer& peer) {
  SSL* native = stream.native_handle();
  const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(native), X509_free);
  if (!certificate || SSL_get_verify_result(native) != X509_V_OK) return;
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) return;
  peer.names = names_of(certificate.get());
  peer.certificate_expires_us = static_cast<std::int64_t>(timegm(&end)) * 1'000'000;
}

bool is_trusted(TlsStream& stream, asio::ssl::context& by) {
  SSL* native = stream.native_handle();
  const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(native), X509_free);
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> check(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  X509_STORE* authorities = SSL_CTX_get_cert_store(by.native_handle());
  const bool begun =
      certificate && check &&
      X509_STORE_CTX_init(check.get(), authorities, certificate.get(), SSL_get_peer_cert_chain(native)) == 1 &&
      X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1;
  const bool trusted = begun && X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return trusted;
}

Result<std::shared_ptr<asio::ssl::context>> TlsFiles::read() const {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(native, choose_http, nullptr);
  ErrorCode error;
  context->use_certificate_chain_file(certificate_.string(), error);
  if (error) return unusable("the certificate cannot be used", certificate_, error);
  context->use_private_key_file(key_.string(), asio::ssl::context::pem, error);
  if (error) return unusable("the key cannot be used", key_, error);
  if (SSL_CTX_check_private_key(native) != 1) {
    ERR_clear_error();
    return fail(ErrorKind::invalid, "http.tlsFile", "the key is not that of the certificate", key_.string());
  }
  if (!client_ca_.empty()) {
    if (auto asked = ask_for_certificates(native, client_ca_); !asked) return std::unexpected(asked.error());
  }
  return context;
}

TlsFiles::Times TlsFiles::times() const {
  std::error_code ignored;
  return {std::filesystem::last_write_time(certificate_, ignored), std::filesystem::last_write_time(key_, ignored),
          std::filesystem::last_write_time(client_ca_, ignored)};
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(std::filesystem::path certificate, std::filesystem::path key,
                                                 std::filesystem::path client_ca,
                                                 std::function<void(std::string_view)> log) {
  std::unique_ptr<TlsFiles> files(
      new TlsFiles(std::move(certificate), std::move(key), std::move(client_ca), std::move(log)));
  files->read_times_ = files->times();
  auto context = files->read();
  if (!context) return std::unexpected(context.error());
  files->context_ = std::move(*context);
  files->next_look_ = Clock::now() + kLookInterval;
  return files;
}

std::shared_ptr<asio::ssl::context> TlsFiles::context() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now < next_look_) return context_;
  next_look_ = now + kLookInterval;
  const Times present = times();
  if (present == read_times_) return context_;
  read_times_ = present;  // the same files are not tried again: both are replaced before it works
  if (auto fresh = read()) {
    context_ = std::move(*fresh);
    if (log_) log_("the TLS certificate was read again");
  } else if (log_) {
    log_("the TLS certificate from before stays in use: " + fresh.error().text());
  }
  return context_;
}

bool is_tls_alert(std::span<const unsigned char> bytes) {
  constexpr std::size_t kHeader = 5, kAlert = 21, kData = 23, kEncryptedAlert = 19;
  if (bytes.size() < kHeader) return false;
  const std::size_t length = bytes[3] * 256U + bytes[4];
  if (bytes.size() != kHeader + length) return false;
  return bytes[0] == kAlert || (bytes[0] == kData && length == kEncryptedAlert);
}

bool is_plain_http(const ErrorCode& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace railweave::api
