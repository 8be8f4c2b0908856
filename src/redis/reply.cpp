// SPDX-License-Identifier: Apache-2.0
#include "redis/reply.hpp"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <new>
#include <utility>

#include "redis/error.hpp"

namespace weir::redis {

// The callbacks by which hiredis' parser builds objects. A child's place in its parent exists already, so no
// pointer ever moves; nullptr makes the parser stop with an error.
struct ReplyBuilder {
  static Reply& place(const redisReadTask* task) {
    if (task->parent != nullptr) {
      auto& siblings = static_cast<Reply*>(task->parent->obj)->elements;
      return siblings[static_cast<std::size_t>(task->idx)];
    }
    Reply& root = static_cast<ReplyReader*>(task->privdata)->root_;
    root = Reply();
    return root;
  }

  static void* text(const redisReadTask* task, char* bytes, std::size_t size) {
    Reply& reply = place(task);
    reply.type = Reply::Type::text;
    if (task->type == REDIS_REPLY_STATUS) reply.type = Reply::Type::status;
    if (task->type == REDIS_REPLY_ERROR) reply.type = Reply::Type::error;
    reply.text.assign(bytes, size);
    return &reply;
  }

  static void* array(const redisReadTask* task, int count) {
    // Each element takes at least four bytes on the wire: a larger count can only be a lie.
    const auto* reader = static_cast<const ReplyReader*>(task->privdata);
    if (count < 0 || static_cast<std::size_t>(count) > reader->max_reply_bytes_ / 4) return nullptr;
    Reply& reply = place(task);
    reply.type = Reply::Type::array;
    reply.elements.resize(static_cast<std::size_t>(count));
    return &reply;
  }

  static void* integer(const redisReadTask* task, long long value) {
    Reply& reply = place(task);
    reply.type = Reply::Type::integer;
    reply.integer = value;
    return &reply;
  }

  static void* nil(const redisReadTask* task) {
    Reply& reply = place(task);
    reply.type = Reply::Type::nil;
    return &reply;
  }

  static void free(void*) {}
};

namespace {

redisReplyObjectFunctions kFunctions{&ReplyBuilder::text, &ReplyBuilder::array, &ReplyBuilder::integer,
                                     &ReplyBuilder::nil, &ReplyBuilder::free};

}  // namespace

ReplyReader::ReplyReader(std::size_t max_reply_bytes)
    : reader_(redisReaderCreateWithFunctions(&kFunctions), &redisReaderFree),
      max_reply_bytes_(max_reply_bytes) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = this;
}

ReplyReader::~ReplyReader() = default;

error_code ReplyReader::feed(std::string_view bytes) {
  unfinished_bytes_ += bytes.size();
  const int fed = redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
  return fed == REDIS_OK ? error_code() : make_error_code(ErrorKind::protocol);
}

ReplyReader::Progress ReplyReader::next(Reply& reply) {
  void* object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK) return Progress::broken;
  if (object == nullptr) {
    return unfinished_bytes_ > max_reply_bytes_ ? Progress::broken : Progress::partial;
  }
  unfinished_bytes_ = reader_->len - reader_->pos;
  reply = std::move(root_);
  return Progress::complete;
}

}  // namespace weir::redis
