#include "api/http/connection/tls.h"

#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

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
  return fail(ErrorKind::invalid, "http.tlsFile", std::string(what) + ": " + error.message(), file.string(),
              "a certificate chain and its key in PEM, as tls_certificate and tls_key name them");
}

}  // namespace

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
  return context;
}

TlsFiles::Times TlsFiles::times() const {
  std::error_code ignored;
  return {std::filesystem::last_write_time(certificate_, ignored), std::filesystem::last_write_time(key_, ignored)};
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(std::filesystem::path certificate, std::filesystem::path key,
                                                 std::function<void(std::string_view)> log) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(certificate), std::move(key), std::move(log)));
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
