#include "fabric/drivers/opensm/local/kept_file_writer.h"

#include <utility>

#include "fabric/drivers/opensm/local/kept_file.h"

namespace railweave::fabric::opensm {

void KeptFileWriter::keep(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(text);
  }
  if (std::exchange(started_, true)) return worker_.wake();
  worker_.start([this](Worker::Turn& turn) {
    do {
      write();
    } while (turn.rest());
    write();
  });
}

void KeptFileWriter::write() {
  std::optional<std::string> text;
  {
    const std::lock_guard lock(mutex_);
    text = std::exchange(next_, std::nullopt);
  }
  if (!text) return;
  if (const auto kept = write_kept_file(path_, *text); !kept) failed_(kept.error());
}

}  // namespace railweave::fabric::opensm
