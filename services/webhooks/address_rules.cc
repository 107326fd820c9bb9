#include "services/webhooks/address_rules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <arpa/inet.h>

namespace railweave::webhooks {
namespace {

using V6 = std::array<std::uint8_t, 16>;

std::uint32_t v4_number(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
}

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24U | b << 16U | c << 8U | d;
}

bool begins(const V6& address, std::initializer_list<std::uint8_t> prefix) {
  return std::ranges::equal(prefix, std::span(address).first(prefix.size()));
}

// Addresses of metadata services of clouds, beside the link-local one that most have.
bool is_metadata(std::uint32_t address) {
  return address == v4(100, 100, 100, 200) || address == v4(168, 63, 129, 16) || address == v4(192, 0, 0, 192);
}

std::optional<std::string> refusal_v4(const AddressRules& rules, std::uint32_t address, bool tls) {
  const bool loopback = address >> 24U == 127;
  if (loopback && !rules.loopback) return "it is of this machine";
  if (!loopback && !tls) return "it is not of this machine, and http is for loopback only";
  if ((address >> 16U == v4(169, 254, 0, 0) >> 16U || is_metadata(address)) && !rules.link_local) {
    return "it is link-local, or of a metadata service";
  }
  if (address >> 24U == 0 || address >> 28U >= 14) return "no host has it";
  return std::nullopt;
}

std::optional<std::string> refusal_v6(const AddressRules& rules, const V6& address, bool tls) {
  // IPv4 in IPv6: mapped, compatible, NAT64 and 6to4 lead to the IPv4 address.
  const bool zeros = std::all_of(address.begin(), address.begin() + 10, [](std::uint8_t byte) { return byte == 0; });
  const bool loopback = zeros && address[10] == 0 && address[11] == 0 && v4_number(&address[12]) == 1;
  if (begins(address, {0, 0x64, 0xff, 0x9b}) || (zeros && !loopback && address[10] == address[11])) {
    return refusal_v4(rules, v4_number(&address[12]), tls);
  }
  if (begins(address, {0x20, 0x02})) return refusal_v4(rules, v4_number(&address[2]), tls);
  if (loopback && !rules.loopback) return "it is of this machine";
  if (!loopback && !tls) return "it is not of this machine, and http is for loopback only";
  const bool local = address[0] == 0xfe && (address[1] & 0xc0U) == 0x80;
  const bool metadata = begins(address, {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54});
  if ((local || metadata) && !rules.link_local) return "it is link-local, or of a metadata service";
  if (address[0] == 0xff) return "no host has it";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal(const AddressRules& rules, std::string_view address, bool tls) {
  const std::string text(address.substr(0, address.find('%')));  // without its scope
  std::uint32_t number = 0;
  if (inet_pton(AF_INET, text.c_str(), &number) == 1) return refusal_v4(rules, ntohl(number), tls);
  V6 bytes{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return refusal_v6(rules, bytes, tls);
  return "it is no address";
}

Result<WebhookUrl> parse_webhook_url(std::string_view text, const AddressRules& rules) {
  const auto bad = [](std::string message) {
    return fail(ErrorKind::invalid, "webhooks.badUrl", std::move(message), "/url",
                "like https://hooks.example.org/railweave");
  };
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) return bad("it is no URL");
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (!printable || text.find('#') != std::string_view::npos) return bad("it has characters that a URL cannot have");
  const auto path = std::min(text.find_first_of("/?", scheme + 3), text.size());
  auto server = api::parse_url(text.substr(0, path));
  if (!server || !server->socket.empty()) return bad("it is no URL of https");
  if (!server->tls && !rules.loopback) return bad("events are sent over https only");
  std::uint32_t number = 0;
  V6 bytes{};
  const bool numeric = inet_pton(AF_INET, server->host.c_str(), &number) == 1 ||
                       inet_pton(AF_INET6, server->host.c_str(), bytes.data()) == 1;
  if (numeric) {
    if (const auto why = refusal(rules, server->host, server->tls)) {
      return fail(ErrorKind::invalid, "webhooks.addressRefused", "events are not sent to " + server->host + ": " + *why,
                  "/url", "the service's configuration says what may be sent to ([webhooks])");
    }
  }
  std::string target(text.substr(path));
  if (target.empty() || target.front() == '?') target.insert(0, "/");
  return WebhookUrl{std::move(*server), std::move(target)};
}

}  // namespace railweave::webhooks
