#include "services/rest/access/client_address.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>

#include "fabric/base/lower_case.h"
#include "fabric/base/whole_number.h"

namespace railweave::api {
namespace {

using Bytes = std::array<std::uint8_t, 16>;
constexpr unsigned kMappedBits = 96;

// With true where it is one of IPv4.
std::optional<std::pair<Bytes, bool>> bytes_of(std::string_view text) {
  Bytes bytes{};
  const std::string address(text);
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return std::pair(bytes, false);
  bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  if (::inet_pton(AF_INET, address.c_str(), &bytes[12]) == 1) return std::pair(bytes, true);
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// "192.0.2.7", "192.0.2.7:443", "[2001:db8::7]:443", each in quotes or not.
std::string address_of(std::string_view node) {
  node = trimmed(node);
  if (node.size() >= 2 && node.front() == '"' && node.back() == '"') node = node.substr(1, node.size() - 2);
  if (node.starts_with('[')) {
    node = node.substr(1, node.find(']') - 1);
  } else if (std::ranges::count(node, ':') == 1) {
    node = node.substr(0, node.find(':'));
  }
  return bytes_of(node) ? std::string(node) : std::string();
}

// The value of for= of one element of Forwarded.
std::string_view for_of(std::string_view element) {
  while (!element.empty()) {
    const auto end = element.find(';');
    const std::string_view pair = trimmed(element.substr(0, end));
    if (lower_case(std::string(pair.substr(0, 4))) == "for=") return pair.substr(4);
    element = end == std::string_view::npos ? std::string_view() : element.substr(end + 1);
  }
  return {};
}

// From the farthest to the nearest, "" for what is no address.
std::vector<std::string> forwarded_for(const Headers& headers) {
  std::vector<std::string> addresses;
  for (const std::string_view element : headers.list(kForwardedFor)) addresses.push_back(address_of(element));
  if (!addresses.empty()) return addresses;
  for (const std::string_view element : headers.list("Forwarded")) addresses.push_back(address_of(for_of(element)));
  return addresses;
}

bool is_proxy(const TrustedSenders& trusted, std::string_view address) {
  return std::ranges::any_of(trusted.proxies, [&](const Network& network) { return network.contains(address); });
}

}  // namespace

std::optional<Network> Network::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = bytes_of(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned offset = address->second ? kMappedBits : 0;
  unsigned bits = 128 - offset;
  if (slash != std::string_view::npos) {
    const auto given = whole_number<unsigned>(text.substr(slash + 1), bits);
    if (!given) return std::nullopt;
    bits = *given;
  }
  Network network;
  network.bytes_ = address->first;
  network.bits_ = offset + bits;
  return network;
}

bool Network::contains(std::string_view address) const {
  const auto other = bytes_of(address);
  if (!other) return false;
  for (unsigned bit = 0; bit < bits_; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if ((bytes_[bit / 8] & mask) != (other->first[bit / 8] & mask)) return false;
  }
  return true;
}

std::string client_address(const TrustedSenders& trusted, const Peer& peer, const Headers& headers) {
  const bool replica = std::ranges::find_first_of(peer.names, trusted.replicas) != peer.names.end();
  if (!replica && !is_proxy(trusted, peer.address)) return peer.address;
  std::string client = peer.address;
  auto senders = forwarded_for(headers);
  for (auto next = senders.rbegin(); next != senders.rend() && !next->empty(); ++next) {
    client = *next;
    if (!is_proxy(trusted, client)) break;
  }
  return client;
}

}  // namespace railweave::api
