// What is reserved on every directed link in every class, and by which jobs. A value for snapshots: copying costs a
// pointer per chunk of links and one for the reservations; published copies may be read by any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/base/chunked_vector.h"
#include "fabric/capacity/reservation.h"

namespace railweave::fabric {

// The parts of a link that may be reserved.
struct CapacityRules {
  std::vector<std::uint32_t> class_permille;  // of a link, by class; together at most 1000
  std::uint32_t usable_permille = 950;        // of a link's rate; the rest is headroom for headers and control traffic
};

struct FullLink {
  struct Holder {
    std::string job;
    std::int64_t mbps = 0;
  };
  DirectedLink link = 0;
  std::int64_t wanted_mbps = 0;    // by the reservation that does not fit
  std::int64_t reserved_mbps = 0;  // by other reservations of the class
  std::int64_t limit_mbps = 0;     // of the class on this link
  std::vector<Holder> holders;     // largest first, at most kMaxHolders
  static constexpr std::size_t kMaxHolders = 8;
};

class Ledger {
 public:
  using Key = std::pair<std::string, std::uint8_t>;  // job, class

  Ledger() = default;
  // capacity: by directed link, 0 where the link is down.
  Ledger(std::vector<std::int64_t> capacity_mbps, CapacityRules rules);

  [[nodiscard]] std::size_t classes() const { return rules_.class_permille.size(); }
  [[nodiscard]] const CapacityRules& rules() const { return rules_; }
  [[nodiscard]] std::size_t links() const { return capacity_ ? capacity_->size() : 0; }
  [[nodiscard]] std::int64_t capacity_mbps(DirectedLink link) const { return (*capacity_)[link]; }
  [[nodiscard]] std::int64_t limit_mbps(DirectedLink link, std::uint8_t qos_class) const;
  [[nodiscard]] std::int64_t reserved_mbps(DirectedLink link, std::uint8_t qos_class) const {
    return reserved_[link * classes() + qos_class];
  }
  // The lanes of their own that jobs have on the link, a bit each.
  [[nodiscard]] std::uint16_t lanes_on(DirectedLink link) const { return lanes_[link]; }

  // Links on which the load does not fit in addition to what is reserved; empty: it fits. O(entries).
  [[nodiscard]] std::vector<FullLink> full_links(const LoadVector& loads, std::uint8_t qos_class,
                                                 std::size_t at_most = 16) const;
  // Does not check whether it fits: callers check full_links() before. The job must have no reservation in that class, and
  // no other job its lane on one of its links.
  void reserve(ReservationPtr reservation);
  ReservationPtr release(std::string_view job, std::uint8_t qos_class);  // null: the job has none
  [[nodiscard]] ReservationPtr find(std::string_view job, std::uint8_t qos_class) const;
  [[nodiscard]] std::vector<ReservationPtr> reservations() const;  // in order of job and class
  [[nodiscard]] std::vector<ReservationPtr> reservations_of(std::string_view job) const;

  void set_capacity(std::vector<std::int64_t> capacity_mbps);  // of the same fabric, after failures or recoveries

 private:
  using Table = std::map<Key, ReservationPtr>;
  void add(const Reservation& reservation, std::int64_t sign);

  // Copied on the first write after the ledger was copied, else written in place: n reservations cost n, not n^2. As in
  // ChunkedVector, copying ends ownership on both sides.
  class SharedTable {
   public:
    SharedTable() : table_(std::make_shared<Table>()) {}
    SharedTable(const SharedTable& other) : table_(other.table_), owned_(false) { other.owned_ = false; }
    SharedTable& operator=(const SharedTable& other) {
      if (this == &other) return *this;
      table_ = other.table_;
      owned_ = other.owned_ = false;
      return *this;
    }
    ~SharedTable() = default;
    const Table* operator->() const { return table_.get(); }
    const Table& operator*() const { return *table_; }
    Table& write() {
      if (!owned_) table_ = std::make_shared<Table>(*table_);
      owned_ = true;
      return *table_;
    }

   private:
    std::shared_ptr<Table> table_;
    mutable std::atomic<bool> owned_{true};
  };

  std::shared_ptr<const std::vector<std::int64_t>> capacity_;
  CapacityRules rules_;
  ChunkedVector<std::int64_t, 1024> reserved_;  // links x classes
  ChunkedVector<std::uint16_t, 1024> lanes_;    // by link
  SharedTable table_;
};

// Whole Mb/s by directed link; 0 where a link is down.
std::vector<std::int64_t> whole_capacities_mbps(const FabricView& view);

}  // namespace railweave::fabric
