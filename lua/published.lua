#!lua
-- SPDX-License-Identifier: Apache-2.0
-- One document that all gateways of a node take from the store: what `weir push` publishes.
-- KEYS: the document (a hash; the one key without an end: it is no counter).
-- ARGV: `look`, `read`, `former`, or: `publish`, the version that it replaces, hash of the document, document.
-- Reply: look {version, at}; read and former {version, at, document}; publish {1, version, at}, or {0, version, at}
-- of what is there if that is not what the publisher had seen. A version is `sequence-hash`, '' if there is none;
-- at: ms, by the store's clock.

--- @include "prelude_time"

local call, format = redis.call, string.format
local key, op = KEYS[1], ARGV[1]
local function field(name)
  return call('HGET', key, name) or ''
end

if op == 'look' then return {field('version'), field('at')} end
if op == 'read' then return {field('version'), field('at'), field('document')} end
if op == 'former' then return {field('former_version'), field('former_at'), field('former_document')} end

local version = field('version')
if version ~= ARGV[2] then return {0, version, field('at')} end
if version ~= '' then
  call('HSET', key, 'former_version', version, 'former_at', field('at'), 'former_document', field('document'))
end
local fresh = format('%d-%s', call('HINCRBY', key, 'sequence', 1), ARGV[3])
local at = format('%d', now)
call('HSET', key, 'version', fresh, 'at', at, 'document', ARGV[4])
return {1, fresh, at}
