#include "fabric/drivers/infiniband/administration_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <infiniband/umad.h>

namespace railweave::fabric::infiniband {

namespace {

constexpr int kAdministrationClass = static_cast<int>(MadClass::subnetAdministration), kAdministrationVersion = 2;
constexpr std::uint32_t kGeneralQueueKey = 0x80010000;

}  // namespace

UmadAdministrationPort::UmadAdministrationPort(int handle, std::string name)
    : handle_(handle),
      name_(std::move(name)),
      send_buffer_((umad_size() + kMadBytes + 7) / 8),
      receive_buffer_((umad_size() + kMadBytes + 7) / 8) {}

UmadAdministrationPort::~UmadAdministrationPort() {
  if (agent_ >= 0) umad_unregister(handle_, agent_);
  umad_close_port(handle_);
}

Result<std::unique_ptr<AdministrationPort>> UmadAdministrationPort::open(const UmadOptions& options) {
  const std::string name = options.adapter.empty() ? "the first InfiniBand adapter" : options.adapter;
  const char* adapter = options.adapter.empty() ? nullptr : options.adapter.c_str();
  const int handle = umad_open_port(adapter, static_cast<int>(options.port));
  if (handle < 0) {
    return fail(ErrorKind::unavailable, "ib.cannotOpen", std::string("cannot be opened: ") + std::strerror(-handle),
                name, "needs read and write access to /dev/infiniband/umad*");
  }
  std::unique_ptr<UmadAdministrationPort> port(new UmadAdministrationPort(handle, name));
  // What clients ask with, also what is refused. Acknowledgements of tables have the method that they were asked for with.
  constexpr unsigned kGetTraceTable = 0x13, kGetMulti = 0x14;
  long methods[16 / sizeof(long)] = {};
  for (const unsigned method : {static_cast<unsigned>(SaMethod::get), static_cast<unsigned>(SaMethod::set),
                                static_cast<unsigned>(SaMethod::getTable), static_cast<unsigned>(SaMethod::remove),
                                kGetTraceTable, kGetMulti}) {
    methods[method / (8 * sizeof(long))] |= 1L << method % (8 * sizeof(long));
  }
  port->agent_ = umad_register(handle, kAdministrationClass, kAdministrationVersion, 0 /* RMPP: ours */, methods);
  if (port->agent_ < 0) {
    return fail(ErrorKind::unavailable, "ib.cannotRegister",
                "the administration's management class cannot be registered", name,
                "does another subnet manager run on this port?");
  }
  return std::unique_ptr<AdministrationPort>(std::move(port));
}

Result<void> UmadAdministrationPort::send(const SaClient& to, const Mad& mad, Milliseconds answer_within) {
  void* buffer = send_buffer_.data();
  std::memset(buffer, 0, umad_size());
  std::memcpy(umad_get_mad(buffer), mad.data(), mad.size());
  umad_set_addr(buffer, to.lid, static_cast<int>(to.queue_pair), to.level, static_cast<int>(kGeneralQueueKey));
  umad_set_pkey(buffer, to.key_index);
  if (umad_send(handle_, agent_, buffer, kMadBytes, static_cast<int>(answer_within.count()), 0) < 0) {
    return fail(ErrorKind::unavailable, "ib.sendFailed", std::string("cannot send: ") + std::strerror(errno), name_);
  }
  return {};
}

Result<std::optional<AdministrationPort::Received>> UmadAdministrationPort::receive(Milliseconds wait) {
  const int ready = umad_poll(handle_, static_cast<int>(std::max<Milliseconds::rep>(wait.count(), 0)));
  if (ready == -ETIMEDOUT || ready == -EINTR || ready == -EAGAIN) return std::nullopt;
  if (ready < 0) {
    return fail(ErrorKind::unavailable, "ib.receiveFailed", std::string("cannot wait: ") + std::strerror(-ready),
                name_);
  }
  void* buffer = receive_buffer_.data();
  std::memset(buffer, 0, umad_size() + kMadBytes);
  int length = kMadBytes;
  const int agent = umad_recv(handle_, buffer, &length, 0);
  // What is longer is no datagram that was asked for.
  if (agent < 0 && agent != -EAGAIN && agent != -EINTR && agent != -ETIMEDOUT && agent != -EWOULDBLOCK &&
      agent != -ENOSPC) {
    return fail(ErrorKind::unavailable, "ib.receiveFailed", std::string("cannot receive: ") + std::strerror(-agent),
                name_);
  }
  if (agent < 0 || umad_status(buffer) != 0) return std::nullopt;
  Received received;
  std::memcpy(received.mad.data(), umad_get_mad(buffer), received.mad.size());
  const auto* const from = umad_get_mad_addr(buffer);
  received.client = {.lid = static_cast<Lid>(be16toh(from->lid)),
                     .queue_pair = be32toh(from->qpn),
                     .level = from->sl,
                     .key_index = static_cast<std::uint16_t>(umad_get_pkey(buffer))};
  return received;
}

}  // namespace railweave::fabric::infiniband
