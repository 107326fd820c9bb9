// Private to this folder: one client's connection, from its first byte to its last. A coroutine that reads one request
// at a time, has it answered, and writes the answer; nothing here is thread-safe, everything runs on the loop of its
// IoThread.
//
// Deadlines: arm() sets one for whatever comes next; the IoThread's sweep calls check_deadline(), which interrupts the
// operation under way. So there is one timer per thread, not one per operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/connection/answer_inbox.h"
#include "api/http/connection/asio.h"
#include "api/http/connection/input_buffer.h"
#include "api/http/connection/io_thread.h"
#include "api/http/connection/request_parser.h"
#include "api/http/connection/tls.h"
#include "api/http/dispatch/server_core.h"
#include "api/http/message/peer.h"
#include "api/http/message/problem.h"
#include "api/http/message/request.h"

namespace railweave::api {

class StreamSink;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `slot`: its place among the connections; 0: it is only answered that there are too many.
  Connection(ServerCore& core, IoThread& io, Socket socket, Peer peer, ConnectionSlots::Id slot);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  void check_deadline(Clock::time_point now);
  void begin_stop();
  void abort();

 private:
  // A request and what its body is charged to; Responders keep it alive.
  struct Held {
    explicit Held(std::shared_ptr<BodyBudget> budget) : charge(std::move(budget)) { request.stop = stop.get_token(); }
    Request request;
    BodyCharge charge;
    std::stop_source stop;
  };
  // What is known of the request under way beyond the Request itself.
  struct Exchange {
    std::shared_ptr<Held> held;
    const Router::Resource* resource = nullptr;
    const Route* route = nullptr;
    Method method = Method::other;
    bool head_only = false;
    Clock::time_point started;
    std::uint64_t sent_bytes = 0;
  };
  enum class Phase { idle, busy, streaming };
  enum class Step { done, refused, ended };

  void end(const char* why);  // where no answer is under way; a stream is told why

  // connection.cc: the life of the connection and of one exchange
  Task<void> run();
  Task<void> serve();
  Task<void> turn_away();
  Task<bool> serve_one(Step head);
  void begin_exchange();
  void dispatch();
  Task<bool> await_answer();  // answer_ is there; false when the connection is to end without one
  Task<void> watch_client();
  void watch_while_computing();
  Task<bool> send_answer();  // whether the connection goes on
  Task<void> compress_answer();
  [[nodiscard]] bool can_go_on() const;
  [[nodiscard]] SlotOwner slot_owner() const;
  [[nodiscard]] ComputePool::Room room() const;
  [[nodiscard]] std::string turns_of() const;  // with whom its computations take turns
  void record_exchange(bool timed);

  // connection_examine.cc: answers that follow from the head alone
  std::optional<Response> examine();
  std::optional<Response> find_route();
  std::optional<Response> authenticate();
  std::optional<Response> examine_body();
  [[nodiscard]] std::size_t body_limit_bytes() const;

  // connection_io.cc: bytes in and out
  void arm(Clock::duration timeout);
  void disarm() { deadline_ = Clock::time_point::max(); }
  Task<bool> fill();
  Task<Step> await_head();
  Task<Step> read_head();
  Task<Step> read_body();
  void take_buffered_body();
  Step refuse(int status, std::string code, std::string detail, std::string hint = {});
  Step refuse_parse(ErrorCode error);
  Step refuse_silence(const char* phase);
  [[nodiscard]] bool is_still_trusted();  // the certificate that the client showed, by the authorities of now
  Task<bool> begin_tls();                 // false: the connection ends; true at once where there is none
  Task<bool> write_all(std::string_view head, std::string_view body);
  Task<void> linger();

  // connection_pieces.cc: bodies made piece by piece
  Task<void> send_pieces();
  // In answer_.body, empty after the last; false: there is none, and never will be.
  Task<bool> next_piece(const std::shared_ptr<BodyPieces>& pieces);

  // connection_stream.cc: server-sent events
  Task<void> send_stream();
  Task<void> pump_stream(bool chunked);
  Task<void> rest_between_writes();
  Task<void> watch_peer();
  std::string head_of(const Response& response, bool keep_alive, bool chunked, std::optional<std::size_t> length_bytes);

  ServerCore& core_;
  IoThread& io_;
  Socket socket_;
  std::shared_ptr<asio::ssl::context> tls_context_;  // outlives tls_
  std::unique_ptr<TlsStream> tls_;                   // null: bytes go over the socket as they are
  std::shared_ptr<asio::ssl::context> trusted_by_;   // the last that the client's certificate was checked by
  Peer peer_;                                        // the names of its certificate from the handshake on
  const ConnectionSlots::Id slot_;
  bool answered_ = false;  // a request, before

  InputBuffer input_;
  std::optional<RequestParser> parser_;
  Exchange exchange_;
  Response answer_;
  std::string head_;           // being written; kept for its capacity
  bool framing_lost_ = false;  // where the next request begins is not known: the connection ends after the answer
  std::uint64_t received_bytes_ = 0;

  const std::shared_ptr<AnswerInbox> inbox_;
  std::shared_ptr<StreamSink> sink_;
  Timer wake_;  // never expires but for heartbeats: cancelled to wake the coroutine

  Phase phase_ = Phase::idle;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool timed_out_ = false;
  bool aborted_ = false;
  bool watched_ = false;    // watch_client() waits
  bool computing_ = false;  // an answer is awaited that is of use to this client alone
};

}  // namespace railweave::api
