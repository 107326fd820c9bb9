#include "api/http/unix_socket.h"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace railweave::api {
namespace {

std::unexpected<Error> cannot_listen(const std::string& path, const std::string& why) {
  return fail(ErrorKind::unavailable, "http.cannotListen", "cannot listen at this socket: " + why, path,
              "name another with --socket");
}

}  // namespace

Result<void> listen_at(Acceptor& acceptor, const std::string& path, int backlog) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return cannot_listen(path, fmt::format("its path is longer than {} bytes", sizeof(sockaddr_un::sun_path) - 1));
  }
  const asio::local::stream_protocol::endpoint endpoint(path);
  ErrorCode error;
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) return cannot_listen(path, "a file is there that is no socket");
    asio::io_context context;
    asio::local::stream_protocol::socket probe(context);
    probe.connect(endpoint, error);
    if (error != asio::error::connection_refused) return cannot_listen(path, "another process listens there");
    if (::unlink(path.c_str()) != 0) return cannot_listen(path, std::strerror(errno));
  }
  error.clear();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.bind(endpoint, error);
  // Whoever may reach its folder may connect: what a caller may do follows from its credentials or token, not from the file.
  if (!error && ::chmod(path.c_str(), 0666) != 0) error.assign(errno, boost::system::system_category());
  if (!error) acceptor.listen(backlog, error);
  if (error) return cannot_listen(path, error.message());
  return {};
}

Result<Peer> peer_of_unix_socket(Socket& socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return fail(ErrorKind::internal, "http.peerUnknown", std::strerror(errno));
  }
  Peer peer;
  peer.uid = credentials.uid;
  peer.address = fmt::format("uid {}", credentials.uid);
  return peer;
}

}  // namespace railweave::api
