#include "scheduler/collective/closed_forms.h"

#include <bit>

#include "scheduler/collective/collective.h"

namespace railweave::scheduler::closed_form {

namespace {
double real(std::uint64_t n) { return static_cast<double>(n); }
double depth_of(std::uint64_t n) { return n < 2 ? 0 : std::bit_width(n) - 1; }
}  // namespace

double ring_all_reduce_us(std::uint64_t n, double bytes, Link link) {
  if (n < 2) return 0;
  return 2 * (real(n) - 1) / real(n) * transfer_us(bytes, link.rate_mbps) + 2 * (real(n) - 1) * link.alpha_us;
}
double ring_all_gather_us(std::uint64_t n, double bytes, Link link) { return ring_all_reduce_us(n, bytes, link) / 2; }
double halving_doubling_all_reduce_us(std::uint64_t n, double bytes, Link link) {
  if (n < 2) return 0;
  return 2 * (real(n) - 1) / real(n) * transfer_us(bytes, link.rate_mbps) + 2 * depth_of(n) * link.alpha_us;
}
double tree_all_reduce_us(std::uint64_t n, double bytes, Link link) {
  if (n < 2) return 0;
  return 2 * transfer_us(bytes, link.rate_mbps) + 2 * depth_of(n) * link.alpha_us;
}
double direct_all_to_all_us(std::uint64_t n, double bytes, Link link) {
  if (n < 2) return 0;
  return (real(n) - 1) / real(n) * transfer_us(bytes, link.rate_mbps) + link.alpha_us;
}
double in_network_all_reduce_us(double bytes, unsigned depth, Link link) {
  return transfer_us(bytes, link.rate_mbps) + 2.0 * depth * link.alpha_us;
}
double hierarchical_all_reduce_us(std::uint64_t m, std::uint64_t k, double bytes, Link inside, Link outside) {
  return ring_all_reduce_us(m, bytes, inside) + ring_all_reduce_us(k, bytes / real(m), outside);
}
double point_to_point_us(double bytes, Link link) { return transfer_us(bytes, link.rate_mbps) + link.alpha_us; }
double parameter_server_us(std::uint64_t n, std::uint64_t servers, double bytes, Link link) {
  if (n < 2) return 0;
  return 2 * ((real(n) - 1) / real(servers) * transfer_us(bytes, link.rate_mbps) + link.alpha_us);
}

}  // namespace railweave::scheduler::closed_form
