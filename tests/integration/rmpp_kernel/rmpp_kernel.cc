// What the kernel does for programs on libibumad that registered for messages of several datagrams (RMPP, IBA 13.6.2), which
// ibsim's port does not: preloaded behind it, programs as saquery and OpenSM see whole tables. Written from the specification and
// what the kernel does, with no code of Railweave's.
//
// RMPP_LOSE=n: every n-th segment that arrives is lost.
// RMPP_TAILS_ONLY: for programs that handle such messages themselves, datagrams are handed on whole, and that is all.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/umad.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

constexpr int kMad = 256, kHeader = 56, kData = kMad - kHeader, kCounted = kMad - 36;
constexpr std::uint8_t kClass = 3, kActive = 1, kFirst = 2, kLast = 4, kTypeData = 1, kTypeAck = 2;
constexpr std::uint32_t kWindow = 8;

using Recv = int (*)(int, void*, int*, int);
using Send = int (*)(int, int, void*, int, int, int);
Recv real_recv() {
  static const auto found = reinterpret_cast<Recv>(dlsym(RTLD_NEXT, "umad_recv"));
  return found;
}
Send real_send() {
  static const auto found = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "umad_send"));
  return found;
}

std::uint32_t get32(const std::uint8_t* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return ntohl(value);
}
void put32(std::uint8_t* at, std::uint32_t value) {
  value = htonl(value);
  std::memcpy(at, &value, 4);
}

bool tails_only() {
  static const bool only = std::getenv("RMPP_TAILS_ONLY") != nullptr;
  return only;
}

struct Message {
  std::vector<std::uint8_t> bytes;  // umad's header, the datagrams' header, data
  std::uint32_t taken = 0, window = 0;
};
std::mutex mutex;
// ibsim's port hands on all but the last bytes of a datagram, which are kept here as they came in: by transaction, method and segment.
std::mutex tails_mutex;
std::map<std::string, std::vector<std::uint8_t>> tails;
std::string tail_key(const std::uint8_t* mad) {
  return std::string(reinterpret_cast<const char*>(mad + 8), 8) + static_cast<char>(mad[3]) +
         static_cast<char>(mad[25]) + std::string(reinterpret_cast<const char*>(mad + 28), 4);
}
void complete(std::uint8_t* mad) {
  const std::lock_guard lock(tails_mutex);
  const auto kept = tails.find(tail_key(mad));
  if (kept == tails.end()) return;
  std::memcpy(mad, kept->second.data(), kMad);
  tails.erase(kept);
}

std::map<std::pair<int, std::string>, Message> arriving;  // by handle and transaction
std::map<int, std::vector<std::uint8_t>> whole;           // for callers whose buffer was too small

void acknowledge(int handle, int agent, const std::vector<std::uint8_t>& segment, std::uint32_t taken,
                 std::uint32_t window) {
  std::vector<std::uint8_t> buffer = segment;
  auto* mad = static_cast<std::uint8_t*>(umad_get_mad(buffer.data()));
  mad[3] ^= 0x80U;
  mad[25] = kTypeAck;
  mad[26] = static_cast<std::uint8_t>((mad[26] & ~7U) | kActive);
  put32(mad + 28, taken);
  put32(mad + 32, window);
  std::memset(mad + 36, 0, kMad - 36);
  real_send()(handle, agent, buffer.data(), kMad, 0, 0);
}

int give(void* umad, int* length, std::vector<std::uint8_t> message, int handle, int agent) {
  const int size = static_cast<int>(message.size() - umad_size());
  if (size > *length) {
    *length = size;
    whole[handle] = std::move(message);
    errno = ENOSPC;
    return -ENOSPC;
  }
  std::memcpy(umad, message.data(), message.size());
  *length = size;
  return agent;
}

// Whether the segment completed its message, which is then in `message`.
bool take(int handle, int agent, const std::vector<std::uint8_t>& segment, std::vector<std::uint8_t>& message) {
  static const unsigned lose =
      std::getenv("RMPP_LOSE") != nullptr ? std::strtoul(std::getenv("RMPP_LOSE"), nullptr, 10) : 0;
  static unsigned arrived = 0;
  if (lose != 0 && ++arrived % lose == 0) return false;
  const auto* mad = segment.data() + umad_size();
  const std::pair key(handle, std::string(reinterpret_cast<const char*>(mad + 8), 8));
  const std::uint32_t number = get32(mad + 28);
  Message& state = arriving[key];
  if (number == state.taken + 1) {
    if (number == 1)
      state.bytes.assign(segment.begin(), segment.begin() + static_cast<std::ptrdiff_t>(umad_size() + kHeader));
    state.bytes.insert(state.bytes.end(), mad + kHeader, mad + kMad);
    state.taken = number;
    if ((mad[26] & kLast) != 0) {
      const int pad = kCounted - static_cast<int>(get32(mad + 32));
      if (pad > 0 && pad <= kData) state.bytes.resize(state.bytes.size() - static_cast<std::size_t>(pad));
      acknowledge(handle, agent, segment, number, number);
      // ibsim forgets what a client sent just before it left; a kernel does not.
      usleep(10'000);
      message = std::move(state.bytes);
      arriving.erase(key);
      return true;
    }
  }
  if (number == 1 || state.taken >= state.window || number != state.taken) {
    state.window = state.taken + kWindow;
    acknowledge(handle, agent, segment, state.taken, state.window);
  }
  return false;
}

}  // namespace

// As ibsim's port reads from ibsim: a header of its own, and the whole datagram.
extern "C" __attribute__((visibility("default"))) ssize_t read(int handle, void* buffer, size_t count) {
  using Read = ssize_t (*)(int, void*, size_t);
  static const auto next = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "read"));
  const ssize_t got = next(handle, buffer, count);
  if (got > kMad && got < kMad + 64 && static_cast<size_t>(got) == count) {
    const auto* mad = static_cast<const std::uint8_t*>(buffer) + got - kMad;
    if (mad[0] == 1 && mad[1] == kClass) {
      const std::lock_guard lock(tails_mutex);
      if (tails.size() > 10'000) tails.clear();
      tails[tail_key(mad)] = std::vector<std::uint8_t>(mad, mad + kMad);
    }
  }
  return got;
}

extern "C" __attribute__((visibility("default"))) int umad_recv(int handle, void* umad, int* length, int timeout) {
  {
    const std::lock_guard lock(mutex);
    if (const auto kept = whole.find(handle); kept != whole.end()) {
      std::vector<std::uint8_t> message = std::move(kept->second);
      whole.erase(kept);
      return give(umad, length, std::move(message), handle, 0);
    }
  }
  for (;;) {
    std::vector<std::uint8_t> buffer(umad_size() + kMad);
    int size = kMad;
    const int agent = real_recv()(handle, buffer.data(), &size, timeout);
    if (agent < 0) {
      *length = size;
      return agent;
    }
    auto* mad = buffer.data() + umad_size();
    if (mad[1] == kClass) complete(mad);
    const bool is_rmpp =
        !tails_only() && mad[1] == kClass && (mad[26] & kActive) != 0 && umad_status(buffer.data()) == 0;
    if (!is_rmpp) {
      std::memcpy(umad, buffer.data(), umad_size() + static_cast<std::size_t>(std::min(*length, kMad)));
      *length = size;
      return agent;
    }
    if (mad[25] != kTypeData) continue;
    const std::lock_guard lock(mutex);
    std::vector<std::uint8_t> message;
    if (take(handle, agent, buffer, message)) return give(umad, length, std::move(message), handle, agent);
  }
}

// Without a window: what is sent here are tables of small fabrics.
extern "C" __attribute__((visibility("default"))) int umad_send(int handle, int agent, void* umad, int length,
                                                                int timeout, int retries) {
  auto* mad = static_cast<std::uint8_t*>(umad_get_mad(umad));
  if (tails_only() || mad[1] != kClass || (mad[26] & kActive) == 0) {
    return real_send()(handle, agent, umad, length, timeout, retries);
  }
  const int data = std::max(0, length - kHeader);
  const int segments = std::max(1, (data + kData - 1) / kData);
  for (int i = 1; i <= segments; ++i) {
    std::vector<std::uint8_t> buffer(umad_size() + kMad);
    std::memcpy(buffer.data(), umad, umad_size() + kHeader);
    auto* part = static_cast<std::uint8_t*>(umad_get_mad(buffer.data()));
    const int bytes = std::min(kData, data - (i - 1) * kData);
    if (bytes > 0) std::memcpy(part + kHeader, mad + kHeader + (i - 1) * kData, static_cast<std::size_t>(bytes));
    part[24] = 1;
    part[25] = kTypeData;
    part[26] =
        static_cast<std::uint8_t>((part[26] & ~7U) | kActive | (i == 1 ? kFirst : 0U) | (i == segments ? kLast : 0U));
    put32(part + 28, static_cast<std::uint32_t>(i));
    put32(part + 32, i == segments ? static_cast<std::uint32_t>(bytes + 20)
                     : i == 1      ? static_cast<std::uint32_t>(data + 20 * segments)
                                   : 0);
    if (const int sent = real_send()(handle, agent, buffer.data(), kMad, 0, 0); sent < 0) return sent;
  }
  return 0;
}
