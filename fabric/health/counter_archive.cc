#include "fabric/health/counter_archive.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fabric/base/check.h"

namespace railweave::fabric::health {
namespace {

constexpr float kSteps = 254;
constexpr std::int64_t kHourUs = 3'600'000'000;

// Steps of the square root: finer where a link is nearly empty.
std::uint8_t pack_share(float share) {
  return static_cast<std::uint8_t>(std::lround(std::sqrt(std::clamp(share, 0.0F, 1.0F)) * kSteps));
}
float share_of(std::uint8_t packed) {
  const float root = static_cast<float>(packed) / kSteps;
  return root * root;
}

// 16 steps per power of two: exact up to 32.
std::uint8_t pack_count(std::uint32_t count) {
  if (count < 16) return static_cast<std::uint8_t>(count);
  const int power = std::bit_width(count) - 5;
  const std::uint32_t rounded = power == 0 ? count : (count + (1U << static_cast<unsigned>(power - 1)));
  const int after = std::bit_width(rounded) - 5;
  const auto code = static_cast<std::uint32_t>(after) * 16 + (rounded >> static_cast<unsigned>(after));
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(code, 255));
}
std::uint32_t count_of(std::uint8_t packed) {
  if (packed < 16) return packed;
  const unsigned power = packed / 16U - 1U;
  return (16U + packed % 16U) << power;
}

}  // namespace

CounterArchive::CounterArchive(std::size_t ports, const ArchiveOptions& options) {
  double share = 1;  // of the slots
  const std::size_t fixed = ports * 2 * sizeof(Open);
  const std::size_t wanted = ports * sizeof(Packed) * (options.slots[0] + options.slots[1]);
  if (fixed + wanted > options.max_bytes) {
    share = static_cast<double>(options.max_bytes - std::min(fixed, options.max_bytes)) / static_cast<double>(wanted);
  }
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    RAILWEAVE_CHECK(options.slots[i] > 0 && options.slot_us[i] > 0, "a ring has slots");
    Ring& ring = rings_[i];
    ring.count = static_cast<std::size_t>(static_cast<double>(options.slots[i]) * share);
    const auto reach = options.slot_us[i] * static_cast<std::int64_t>(options.slots[i]);
    ring.slot_us = ring.count == 0 ? 0 : reach / static_cast<std::int64_t>(ring.count);
  }
  // Not even one slot each: nothing is kept.
  if (std::ranges::any_of(rings_, [](const Ring& ring) { return ring.count == 0; })) {
    rings_.fill({});
    return;
  }
  for (Ring& ring : rings_) {
    ring.slots.resize(ring.count * ports);
    ring.open.resize(ports);
  }
}

void CounterArchive::add(std::size_t port, const ArchiveEntry& entry) {
  for (Ring& ring : rings_) {
    if (ring.count > 0) add(ring, port, entry);
  }
}

void CounterArchive::add(Ring& ring, std::size_t port, const ArchiveEntry& entry) {
  RAILWEAVE_CHECK(port < ring.open.size() && entry.from_us >= 0, "a port of the archive, and a time from 1970 on");
  Open& open = ring.open[port];
  Packed* const slots = ring.slots.data() + port * ring.count;
  const auto count = static_cast<std::int64_t>(ring.count);
  // A clock that was set back adds to the newest slot. The end of an interval is still in the slot that it ends.
  const std::int64_t last = std::max((entry.to_us - 1) / ring.slot_us, open.slot);
  std::int64_t number = std::max(entry.from_us / ring.slot_us, open.slot);
  number = std::clamp(number, std::max<std::int64_t>(last - count + 1, 0), last);
  if (open.slot >= 0) {
    for (auto skipped = std::max(open.slot + 1, last - count + 1); skipped < number; ++skipped) {
      slots[skipped % count] = {};
    }
  }
  for (; number <= last; ++number) {
    if (number != open.slot) open = {.slot = number};
    const auto begin = std::max(entry.from_us, number * ring.slot_us);
    const auto end = std::min(entry.to_us, (number + 1) * ring.slot_us);
    const float seconds = std::max(static_cast<float>(end - begin) * 1e-6F, 1e-6F);
    open.seconds += seconds;
    open.load += entry.load * seconds;
    open.waiting += entry.waiting * seconds;
    open.peak = std::max(open.peak, entry.load);
    // Errors are known to have been counted by its end.
    for (std::size_t i = 0; i < kKeptErrors && number == last; ++i) open.errors[i] += entry.errors[i];
    Packed& packed = slots[number % count];
    packed.load = pack_share(open.load / open.seconds);
    packed.peak = pack_share(open.peak);
    packed.waiting = pack_share(open.waiting / open.seconds);
    std::ranges::transform(open.errors, packed.errors.begin(), pack_count);
  }
}

void CounterArchive::take_over(std::size_t port, const CounterArchive& from, std::size_t its_port) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    const Ring& source = from.rings_[i];
    Ring& ring = rings_[i];
    if (source.count != ring.count || source.slot_us != ring.slot_us || ring.count == 0) continue;
    const auto begin = source.slots.begin() + static_cast<std::ptrdiff_t>(its_port * ring.count);
    std::copy_n(begin, ring.count, ring.slots.begin() + static_cast<std::ptrdiff_t>(port * ring.count));
    ring.open[port] = source.open[its_port];
  }
}

ArchiveSlot CounterArchive::slot(const Ring& ring, std::size_t port, std::int64_t number, std::int64_t now_us) {
  ArchiveSlot out;
  if (ring.count == 0 || number < 0) return out;
  const auto count = static_cast<std::int64_t>(ring.count);
  const std::int64_t newest = ring.open[port].slot;
  const std::int64_t present = std::max(now_us / ring.slot_us, newest);
  if (number > newest || number <= newest - count || number <= present - count) return out;
  const Packed& packed = ring.slots[port * ring.count + static_cast<std::size_t>(number % count)];
  if (packed.load == kNotRead) return out;
  out = {.is_read = true, .load = share_of(packed.load), .peak = share_of(packed.peak)};
  out.waiting = share_of(packed.waiting);
  std::ranges::transform(packed.errors, out.errors.begin(), count_of);
  return out;
}

ArchiveRange CounterArchive::range(std::size_t port, ArchiveRing which, std::int64_t now_us) const {
  const Ring& ring = of(which);
  if (ring.count == 0) return {};
  const auto count = static_cast<std::int64_t>(ring.count);
  const std::int64_t first = std::max<std::int64_t>(now_us / ring.slot_us - count + 1, 0);
  ArchiveRange out{.from_us = first * ring.slot_us, .slot_us = ring.slot_us, .slots = {}};
  out.slots.reserve(ring.count);
  for (std::int64_t number = first; number < first + count; ++number) {
    out.slots.push_back(slot(ring, port, number, now_us));
  }
  return out;
}

ArchiveSlot CounterArchive::at(std::size_t port, std::int64_t at_us, std::int64_t now_us) const {
  for (const Ring& ring : rings_) {
    if (ring.count == 0) continue;
    const auto found = slot(ring, port, at_us / ring.slot_us, now_us);
    if (found.is_read) return found;
  }
  return {};
}

std::array<float, kErrorCounters> CounterArchive::errors_per_hour(std::size_t port, std::int64_t at_us,
                                                                  std::int64_t now_us) const {
  std::array<float, kErrorCounters> rates{};
  const Ring& ring = of(ArchiveRing::coarse);
  if (ring.count == 0) return rates;
  const std::int64_t last = at_us / ring.slot_us;
  const std::int64_t reach = std::clamp<std::int64_t>(kHourUs / ring.slot_us, 1, static_cast<std::int64_t>(ring.count));
  for (std::int64_t number = last - reach + 1; number <= last; ++number) {
    const auto one = slot(ring, port, number, now_us);
    for (std::size_t i = 0; i < kKeptErrors; ++i) rates[i] += static_cast<float>(one.errors[i]);
  }
  return rates;
}

std::size_t CounterArchive::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Ring& ring : rings_) {
    bytes += ring.slots.capacity() * sizeof(Packed) + ring.open.capacity() * sizeof(Open);
  }
  return bytes;
}

}  // namespace railweave::fabric::health
