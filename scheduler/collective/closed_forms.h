// Times of collectives on a non-blocking network in which every rank sends and receives at one rate: what phase_times.h
// must give there, and a first estimate anywhere. n ranks, S bytes, rate B, latency alpha of one step.
#pragma once

#include <cstdint>

namespace railweave::scheduler::closed_form {

struct Link {
  double rate_mbps = 0;
  double alpha_us = 0;
};

// 2(n-1)/n S/B + 2(n-1) alpha
double ring_all_reduce_us(std::uint64_t n, double bytes, Link link);
// (n-1)/n S/B + (n-1) alpha; the same for reduce-scatter
double ring_all_gather_us(std::uint64_t n, double bytes, Link link);
// 2(n-1)/n S/B + 2 log2(n) alpha; n a power of two
double halving_doubling_all_reduce_us(std::uint64_t n, double bytes, Link link);
// 2 S/B + 2 depth alpha, depth = floor(log2 n)
double tree_all_reduce_us(std::uint64_t n, double bytes, Link link);
// (n-1)/n S/B + alpha
double direct_all_to_all_us(std::uint64_t n, double bytes, Link link);
// S/B up and down at the same time, + 2 depth alpha
double in_network_all_reduce_us(double bytes, unsigned depth, Link link);
// m ranks in each of k domains: 2(m-1)/m S/B_in + 2(m-1) alpha_in + 2(k-1)/k S/(m B_out) + 2(k-1) alpha_out
double hierarchical_all_reduce_us(std::uint64_t m, std::uint64_t k, double bytes, Link inside, Link outside);
// S/B + alpha
double point_to_point_us(double bytes, Link link);
// s servers among the n ranks: each receives S/s from the n-1 others and sends it back: 2((n-1) S/(s B) + alpha)
double parameter_server_us(std::uint64_t n, std::uint64_t servers, double bytes, Link link);

}  // namespace railweave::scheduler::closed_form
