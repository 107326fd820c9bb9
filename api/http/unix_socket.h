// Private to this folder: a Unix socket to listen at.
#pragma once

#include <string>

#include "api/http/connection/asio.h"
#include "api/http/message/peer.h"
#include "fabric/base/error.h"

namespace railweave::api {

// Binds and listens. A socket that a process which has ended left behind is replaced; one that is listened at is not.
Result<void> listen_at(Acceptor& acceptor, const std::string& path, int backlog);

// Who connected. Error: the kernel does not say.
Result<Peer> peer_of_unix_socket(Socket& socket);

}  // namespace railweave::api
