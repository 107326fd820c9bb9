// Private to this folder: the parts of Asio used here, bound to io_context's own executor (no type erasure per
// operation). With g++ 12, an expression with co_await must hold no lambda with captures and no temporary with a
// destructor: both have been destroyed twice. Calls below keep to plain references.
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace railweave::api {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Stream = asio::generic::stream_protocol;  // TCP, or Unix sockets
using Socket = asio::basic_stream_socket<Stream, Executor>;
using Acceptor = asio::basic_socket_acceptor<Stream, Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;
using ErrorCode = boost::system::error_code;

template <class T>
using Task = asio::awaitable<T, Executor>;

// The completion token of every operation here: resumes the coroutine, puts the error into `error`.
inline auto into(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable_t<Executor>(), error); }

}  // namespace railweave::api
