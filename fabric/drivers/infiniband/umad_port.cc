#include "fabric/drivers/infiniband/umad_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <infiniband/umad.h>
#include <unistd.h>

namespace railweave::fabric::infiniband {

namespace {

constexpr std::uint32_t kPerformanceQueueKey = 0x80010000;

std::size_t buffer_words() { return (umad_size() + kMadBytes + 7) / 8; }

void mark_method(long (&mask)[16 / sizeof(long)], MadMethod method) {
  const auto bit = static_cast<unsigned>(method);
  mask[bit / (8 * sizeof(long))] |= 1L << (bit % (8 * sizeof(long)));
}

}  // namespace

UmadPort::UmadPort(int handle, std::string name)
    : handle_(handle), name_(std::move(name)), send_buffer_(buffer_words()), receive_buffer_(buffer_words()) {}

UmadPort::~UmadPort() {
  for (const int agent : {directed_agent_, lid_routed_agent_, performance_agent_}) {
    if (agent >= 0) umad_unregister(handle_, agent);
  }
  if (sm_handle_ >= 0) ::close(sm_handle_);
  umad_close_port(handle_);
}

Result<std::unique_ptr<UmadPort>> UmadPort::open(const UmadOptions& options) {
  const std::string name = options.adapter.empty() ? "the first InfiniBand adapter" : options.adapter;
  if (umad_init() < 0) {
    return fail(ErrorKind::unavailable, "ib.noPort", "no InfiniBand management interface on this machine", {},
                "load the kernel module ib_umad");
  }
  const char* adapter = options.adapter.empty() ? nullptr : options.adapter.c_str();
  const int handle = umad_open_port(adapter, static_cast<int>(options.port));
  if (handle < 0) {
    const bool absent = handle == -ENODEV || handle == -EINVAL;
    return fail(ErrorKind::unavailable, absent ? "ib.noPort" : "ib.cannotOpen",
                absent ? "no such InfiniBand port" : std::string("cannot be opened: ") + std::strerror(-handle), name,
                absent ? "ibstat lists the ports" : "needs read and write access to /dev/infiniband/umad*");
  }
  std::unique_ptr<UmadPort> port(new UmadPort(handle, name));
  long traps[16 / sizeof(long)] = {};
  long asked[16 / sizeof(long)] = {};
  if (options.take_traps) mark_method(traps, MadMethod::trap);
  if (options.is_sm) {
    // SMInfo: what other subnet managers ask. Everything else about the port is answered by the kernel.
    for (const auto method : {MadMethod::get, MadMethod::set}) {
      mark_method(traps, method);
      mark_method(asked, method);
    }
  }
  const auto agent = [&](MadClass management_class, long* methods) {
    return umad_register(handle, static_cast<int>(management_class), 1, 0, methods);
  };
  port->directed_agent_ = agent(MadClass::subnetDirected, options.is_sm ? asked : nullptr);
  port->lid_routed_agent_ = agent(MadClass::subnetLidRouted, options.take_traps || options.is_sm ? traps : nullptr);
  port->performance_agent_ = agent(MadClass::performance, nullptr);
  if (port->directed_agent_ < 0 || port->lid_routed_agent_ < 0 || port->performance_agent_ < 0) {
    return fail(ErrorKind::unavailable, "ib.cannotRegister", "management classes cannot be registered", name,
                options.take_traps ? "does another subnet manager run on this port?" : "");
  }
  if (options.is_sm) {
    char path[256] = {};
    if (umad_get_issm_path(adapter, static_cast<int>(options.port), path, sizeof path) >= 0) {
      port->sm_handle_ = ::open(path, O_NONBLOCK);
    }
    if (port->sm_handle_ < 0) {
      return fail(ErrorKind::unavailable, "ib.cannotBeSm", "cannot be made known as a subnet manager", name,
                  "does another subnet manager run on this port?");
    }
  }
  return port;
}

int UmadPort::agent_of(MadClass management_class) const {
  switch (management_class) {
    case MadClass::subnetDirected:
      return directed_agent_;
    case MadClass::subnetLidRouted:
      return lid_routed_agent_;
    case MadClass::performance:
      return performance_agent_;
    case MadClass::subnetAdministration:
      break;  // AdministrationPort's
  }
  return -1;
}

Result<void> UmadPort::send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) {
  const auto management_class = static_cast<MadClass>(mad[1]);
  // Nothing else may go out, above all not congestion control: ibsim takes it for subnet management.
  const int agent = agent_of(management_class);
  if (agent < 0) return fail(ErrorKind::internal, "ib.class", "not a management class of this port", name_);
  void* buffer = send_buffer_.data();
  std::memset(buffer, 0, umad_size());
  std::memcpy(umad_get_mad(buffer), mad.data(), mad.size());
  const bool general = management_class == MadClass::performance;
  umad_set_addr(buffer, to.lid, general ? 1 : 0, 0, general ? static_cast<int>(kPerformanceQueueKey) : 0);
  umad_set_pkey(buffer, 0);
  const int sent =
      umad_send(handle_, agent, buffer, kMadBytes, static_cast<int>(answer_within.count()), 0 /* we retry ourselves */);
  if (sent < 0) {
    return fail(ErrorKind::unavailable, "ib.sendFailed", std::string("cannot send: ") + std::strerror(errno), name_);
  }
  return {};
}

Result<std::optional<ReceivedMad>> UmadPort::receive(Milliseconds wait) {
  const int ready = umad_poll(handle_, static_cast<int>(std::max<Milliseconds::rep>(wait.count(), 0)));
  if (ready == -ETIMEDOUT || ready == -EINTR || ready == -EAGAIN) return std::nullopt;
  if (ready < 0) {
    return fail(ErrorKind::unavailable, "ib.receiveFailed", std::string("cannot wait: ") + std::strerror(-ready),
                name_);
  }
  void* buffer = receive_buffer_.data();
  int length = kMadBytes;
  const int agent = umad_recv(handle_, buffer, &length, 0);
  if (agent < 0) {
    if (agent == -EAGAIN || agent == -EINTR || agent == -ETIMEDOUT || agent == -EWOULDBLOCK) return std::nullopt;
    return fail(ErrorKind::unavailable, "ib.receiveFailed", std::string("cannot receive: ") + std::strerror(-agent),
                name_);
  }
  ReceivedMad received;
  std::memcpy(received.mad.data(), umad_get_mad(buffer), received.mad.size());
  received.source = static_cast<Lid>(be16toh(umad_get_mad_addr(buffer)->lid));
  received.timed_out = umad_status(buffer) != 0;
  return received;
}

}  // namespace railweave::fabric::infiniband
