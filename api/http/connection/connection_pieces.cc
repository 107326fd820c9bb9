#include <exception>

#include "api/http/connection/chunk.h"
#include "api/http/connection/connection.h"

namespace railweave::api {

// The head goes out with the first piece, so that a failure before it is still an answer of its own.
Task<void> Connection::send_pieces() {
  const HeldSlot slot(core_.piecewise, slot_owner());
  const bool chunked = parser_->version >= 11;
  const auto pieces = std::make_shared<BodyPieces>(std::move(answer_.pieces));
  Response head = std::move(answer_);
  if (slot.taken() != FairSlots::Taken::yes) {
    answer_ = to_response(Error{ErrorKind::unavailable, "http.tooManyLargeAnswers",
                                "too many large answers are being sent at once", "", "try again later"});
    head_ = head_of(answer_, can_go_on(), false, answer_.body.size());
    const bool told = co_await write_all(head_, answer_.body);
    framing_lost_ = framing_lost_ || !told;
    record_exchange(true);
    co_return;
  }
  head_ = head_of(head, chunked && can_go_on(), chunked, std::nullopt);
  framing_lost_ = framing_lost_ || !chunked;
  bool whole = false;
  for (bool goes_on = true; goes_on && !whole;) {
    goes_on = co_await next_piece(pieces);
    if (!goes_on) break;
    whole = answer_.body.empty();
    std::string_view body = answer_.body;
    if (chunked && whole) {
      head_ += kLastChunk;
    } else if (chunked) {
      append_chunk(head_, body);
      body = {};
    }
    goes_on = co_await write_all(head_, body);
    head_.clear();
  }
  framing_lost_ = framing_lost_ || !whole;
  if (!whole) abort();  // the client must not take the half for the whole
  answer_ = std::move(head);
  record_exchange(true);
}

Task<bool> Connection::next_piece(const std::shared_ptr<BodyPieces>& pieces) {
  const std::uint64_t ticket = inbox_->open();
  const bool accepted =
      core_.pool.go_on(turns_of(), Work::heavy, [held = exchange_.held, pieces, ticket, inbox = inbox_, &core = core_] {
        Response piece;
        try {
          piece.status = held->request.stop.stop_requested() ? 500 : 200;
          if (piece.status == 200) piece.body = (*pieces)().value_or(std::string());
        } catch (const std::exception& failure) {
          core.log_error("an answer of " + held->request.route + " is cut short: " + failure.what());
          piece.status = 500;
        }
        inbox->deliver(ticket, std::move(piece));
      });
  if (!accepted) co_return false;
  const bool answered = co_await await_answer();
  co_return answered&& answer_.status == 200;
}

}  // namespace railweave::api
