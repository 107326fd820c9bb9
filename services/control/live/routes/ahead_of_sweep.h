// Whose turn it is in opensm mode after routes have changed. What a failure broke is written at once where that is proven to
// harm nothing; the rest is OpenSM's, which routes around the failure as well. Only where it does not within a few sweeps is
// the rest written here. Of one accepted topology; used by the stepping thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace railweave::control {

class AheadOfSweep {
 public:
  explicit AheadOfSweep(std::int64_t sweep_every_us)
      : patience_us_(std::max<std::int64_t>(3 * sweep_every_us, 5'000'000)) {}

  // OpenSM's tables are those of this version of the routes.
  void matched() { version_ = 0; }
  // What can be written ahead of OpenSM for this version is written.
  void begin(std::uint64_t version, bool has_written, std::int64_t now_us) {
    has_written_ = has_written || (version_ != 0 && has_written_);
    version_ = version;
    since_us_ = now_us;
    has_settled_ = is_rest_done_ = false;
  }
  // Nothing more is to be written for this version.
  void rest_done() { is_rest_done_ = true; }
  void settled() { has_settled_ = true; }                       // OpenSM has written tables since
  void is_writing(std::int64_t now_us) { since_us_ = now_us; }  // it is about to

  [[nodiscard]] bool is_begun(std::uint64_t version) const { return version_ != 0 && version_ == version; }
  [[nodiscard]] bool awaits(std::uint64_t version, std::int64_t now_us) const {
    return is_begun(version) && now_us - since_us_ < patience_us_;
  }
  // OpenSM has not routed at all since.
  [[nodiscard]] bool is_rest_due(std::uint64_t version, std::int64_t now_us) const {
    return is_begun(version) && !awaits(version, now_us) && !has_settled_ && !is_rest_done_;
  }
  [[nodiscard]] bool has_settled() const { return has_settled_; }
  [[nodiscard]] bool has_written() const { return version_ != 0 && has_written_; }

 private:
  const std::int64_t patience_us_;
  std::uint64_t version_ = 0;  // 0: nothing is awaited
  std::int64_t since_us_ = 0;
  bool has_written_ = false, has_settled_ = false, is_rest_done_ = false;
};

}  // namespace railweave::control
