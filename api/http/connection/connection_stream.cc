#include <array>

#include "api/http/connection/chunk.h"
#include "api/http/connection/connection.h"
#include "api/http/message/event_stream.h"
#include "api/http/message/response_head.h"

namespace railweave::api {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{64} << 10U;
constexpr std::string_view kHeartbeat = ":\n\n";
// Of all streams together: where there are many, each is written to less often, and more at once.
constexpr std::chrono::microseconds kWritePause{100};

Error no_stream() {
  return {ErrorKind::unavailable, "http.tooManyStreams", "there are too many event streams", "",
          "close some or try again later"};
}

Error share_used(const SlotOwner& owner) {
  return {ErrorKind::busy, "http.streamShareUsed",
          owner.told + " have as many event streams open as are left to everybody else", "",
          "close some, or share one among your programs"};
}

}  // namespace

std::string Connection::head_of(const Response& response, bool keep_alive, bool chunked,
                                std::optional<std::size_t> length_bytes) {
  HeadContext context;
  context.server_name = core_.options.server_name;
  context.date = io_.date();
  context.request_id = exchange_.held->request.id;
  context.keep_alive = keep_alive;
  context.chunked = chunked;
  context.length_bytes = length_bytes;
  context.tls = tls_ != nullptr;
  std::string head;
  head.reserve(512);
  append_head(head, response, context);
  return head;
}

void Connection::begin_stop() { end("the server is stopping"); }

void Connection::end(const char* why) {
  if (phase_ == Phase::idle) {
    ErrorCode ignored;
    socket_.cancel(ignored);
  } else if (phase_ == Phase::streaming) {
    sink_->close(why);
  }
}

Task<void> Connection::send_stream() {
  const HeldSlot slot(core_.streams, slot_owner());
  if (slot.taken() != FairSlots::Taken::yes || core_.stopping) {
    answer_ = to_response(slot.taken() == FairSlots::Taken::share_used ? share_used(slot.owner()) : no_stream());
    head_ = head_of(answer_, false, false, answer_.body.size());
    co_await write_all(head_, answer_.body);
    record_exchange(true);
    co_return;
  }
  const bool chunked = parser_->version >= 11;
  if (!answer_.headers.contains("Cache-Control")) answer_.headers.set("Cache-Control", "no-store");
  head_ = head_of(answer_, false, chunked, std::nullopt);
  const bool written = co_await write_all(head_, std::string_view());
  if (written) co_await pump_stream(chunked);
  record_exchange(false);
}

Task<void> Connection::pump_stream(bool chunked) {
  sink_ = std::make_shared<StreamSink>(core_.options.stream_backlog_bytes);
  sink_->attach([this] {
    // As for the inbox: called only before detach(), while the connection lives.
    asio::post(io_.context, [self = shared_from_this()] { self->wake_.cancel(); });
  });
  phase_ = Phase::streaming;
  input_.clear();
  asio::co_spawn(io_.context, watch_peer(), asio::detached);
  try {
    answer_.stream(sink_);
  } catch (const std::exception& failure) {
    core_.log_error("stream of " + exchange_.held->request.route + " threw: " + failure.what());
    sink_->close("the stream failed on a bug of the service");
  }
  if (core_.stopping) begin_stop();
  for (bool open = true; open && !aborted_;) {
    const StreamSink::Batch batch = sink_->take(kBatchBytes);
    head_.clear();
    if (batch.bytes.empty() && !batch.last) {
      wake_.expires_after(core_.options.stream_heartbeat);
      ErrorCode interrupted;
      co_await wake_.async_wait(into(interrupted));
      if (interrupted) continue;
      if (chunked) {
        append_chunk(head_, kHeartbeat);
      } else {
        head_ += kHeartbeat;
      }
    } else if (chunked) {
      if (!batch.bytes.empty()) append_chunk(head_, batch.bytes);
      if (batch.last) head_ += kLastChunk;
    } else {
      head_ += batch.bytes;
    }
    if (batch.last && batch.cut) io_.metrics.count_stream_cut();
    const bool written = co_await write_all(head_, std::string_view());
    open = written && !batch.last;
    if (open) co_await rest_between_writes();
  }
  sink_->detach();
  phase_ = Phase::busy;
}

Task<void> Connection::rest_between_writes() {
  const Clock::time_point until = Clock::now() + kWritePause * core_.streams.open();
  while (!aborted_ && !core_.stopping && Clock::now() < until) {
    wake_.expires_at(until);
    ErrorCode interrupted;
    co_await wake_.async_wait(into(interrupted));
  }
}

// The client sends nothing more on a stream; when it disconnects, the stream ends, also while there is nothing to send.
Task<void> Connection::watch_peer() {
  const std::shared_ptr<Connection> self = shared_from_this();
  std::array<char, 256> scratch;
  const asio::mutable_buffer buffer(scratch.data(), scratch.size());
  ErrorCode error;
  while (!error) {
    if (tls_) {
      co_await tls_->async_read_some(buffer, into(error));
    } else {
      co_await socket_.async_read_some(buffer, into(error));
    }
  }
  if (phase_ == Phase::streaming) abort();
}

}  // namespace railweave::api
