// Which blocks of a delta may be written now. Blocks of one number go stage by stage: a stage starts when all blocks of
// the stage before are applied, and is held, with all that follow, once one of them failed. Different numbers wait for
// each other only where the delta waits for packets to leave the fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fabric/routing/delta/forwarding_delta.h"

namespace railweave::fabric {

class StagedWrites {
 public:
  // The delta must outlive this. The blocks are of one subnet.
  explicit StagedWrites(const ForwardingDelta& delta);

  // Indices into delta.blocks that may be written now and were not returned before, in the delta's order.
  std::vector<std::size_t> take_ready();
  void applied(std::size_t block);
  void failed(std::size_t block);

  // All that was started is settled, and take_ready() returns nothing before packets_gone() says that everything in flight
  // has left the fabric.
  [[nodiscard]] bool waits_for_packets() const { return under_way_ == 0 && next_stage().has_value(); }
  void packets_gone();
  // Blocks that will never be ready. Complete once everything that was taken is settled.
  [[nodiscard]] std::vector<std::size_t> held() const;

 private:
  struct Number {
    std::map<std::uint16_t, std::vector<std::size_t>> stages;  // not yet started
    std::size_t under_way = 0;
    std::uint16_t stage = 0;  // of what is under way
    bool broken = false;
  };
  void settle(std::size_t block);
  void start_next(Number& number);
  [[nodiscard]] std::optional<std::uint16_t> next_stage() const;  // the lowest that may still be started

  const ForwardingDelta& delta_;
  std::map<std::uint16_t, Number> numbers_;
  std::vector<std::size_t> ready_;
  std::size_t under_way_ = 0;  // of all numbers
  std::size_t waited_ = 0;     // of delta_.waits: over
};

}  // namespace railweave::fabric
