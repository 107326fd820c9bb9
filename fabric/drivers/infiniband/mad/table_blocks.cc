#include "fabric/drivers/infiniband/mad/table_blocks.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

LftEntries read_lft_block(AttributeBytes data) {
  LftEntries entries;
  std::copy(data.begin(), data.end(), entries.begin());
  return entries;
}

MulticastEntries read_multicast_block(AttributeBytes data) {
  MulticastEntries entries;
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = read_16(data, 2 * i);
  return entries;
}

void write_multicast_block(AttributeSpace data, const MulticastEntries& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) write_be(data, 2 * i, 2, entries[i]);
}

PKeyBlock read_pkey_block(AttributeBytes data) {
  PKeyBlock block;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = read_16(data, 2 * i);
  return block;
}

void write_pkey_block(AttributeSpace data, const PKeyBlock& block) {
  for (std::size_t i = 0; i < block.size(); ++i) write_be(data, 2 * i, 2, block[i]);
}

SlToVl read_sl_to_vl(AttributeBytes data) {
  SlToVl map;
  for (std::size_t sl = 0; sl < map.size(); ++sl) map[sl] = read_bits(data, sl / 2, sl % 2 == 0 ? 4 : 0, 4);
  return map;
}

void write_sl_to_vl(AttributeSpace data, const SlToVl& map) {
  for (std::size_t sl = 0; sl < map.size(); ++sl) write_bits(data, sl / 2, sl % 2 == 0 ? 4 : 0, 4, map[sl]);
}

ArbitrationBlock read_arbitration(AttributeBytes data) {
  ArbitrationBlock block;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = {read_bits(data, 2 * i, 0, 4), read_8(data, 2 * i + 1)};
  return block;
}

void write_arbitration(AttributeSpace data, const ArbitrationBlock& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    write_be(data, 2 * i, 1, block[i].vl & 0xfU);
    write_be(data, 2 * i + 1, 1, block[i].weight);
  }
}

}  // namespace railweave::fabric::infiniband
