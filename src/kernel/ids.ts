import { hash, randomBytes, randomFillSync, randomUUID } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'

const POOL_BYTES = 4_096
const pool = Buffer.alloc(POOL_BYTES)
let poolAt = POOL_BYTES

/**
 * Uniform in 0 ≤ x < 1. A ULID needs 16 numbers: one system call for each would cost more than all
 * the rest.
 */
function pooledRandom(): number {
  if (poolAt === POOL_BYTES) {
    randomFillSync(pool)
    poolAt = 0
  }
  const byte = pool.readUInt8(poolAt)
  poolAt += 1
  return byte / 256
}

const nextUlid = monotonicFactory(pooledRandom)

/** Fixed for ever: event ids already in the log were made from it. */
const EVENT_NAMESPACE = Buffer.from('6d1f5b3e2f0e5d539f0a6a2f3c1c7a10', 'hex')

/** The kinds of task a platform id names. */
export type TaskKind = 'video' | 'image' | 'speech'

/** A new platform id, `video_<ULID>` and the like. */
export function newPlatformId(kind: TaskKind, nowMs: number): string {
  return `${kind}_${nextUlid(nowMs)}`
}

/** Whether a string has the shape of a platform id. */
export function isPlatformId(text: string): boolean {
  return /^(?:video|image|speech)_[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

/** A new id of a synchronous call, `call_<ULID>`. */
export function newCallId(nowMs: number): string {
  return `call_${nextUlid(nowMs)}`
}

/** The ULID in the id of a call; undefined for any other text. */
export function ulidOfCall(text: string): string | undefined {
  return /^call_([0-7][0-9A-HJKMNP-TV-Z]{25})$/.exec(text)?.[1]
}

/** The id in the answer of a call, `chatcmpl-<ULID>`: recognisable in the form that chat clients expect. */
export function answerIdOf(callId: string): string {
  return `chatcmpl-${callId.slice('call_'.length)}`
}

/** The id in the answer of a call, `msg_<ULID>`, in the form that clients of messages expect. */
export function messageIdOf(callId: string): string {
  return `msg_${callId.slice('call_'.length)}`
}

/**
 * The id of the call that gave an answer, by the id in the answer or the beginning of that; any other
 * text as it is.
 */
export function callIdOfAnswer(text: string): string {
  const [, ulid] = /^(?:chatcmpl-|msg_)([0-7][0-9A-HJKMNP-TV-Z]{0,25})$/.exec(text) ?? []
  return ulid === undefined ? text : `call_${ulid}`
}

/** A new request id, `req_<ULID>`; answered in `x-request-id`. */
export function newRequestId(nowMs: number): string {
  return `req_${nextUlid(nowMs)}`
}

/** The time in a request id, unix milliseconds; undefined for any other text. */
export function timeOfRequestId(text: string): number | undefined {
  const [, ulid] = /^req_([0-7][0-9A-HJKMNP-TV-Z]{25})$/.exec(text) ?? []
  return ulid === undefined ? undefined : decodeTime(ulid)
}

/** The first and the last time that a ULID of this beginning can have, unix milliseconds. */
export function timesOfUlid(beginning: string): readonly [firstMs: number, lastMs: number] {
  return [decodeTime(beginning.padEnd(26, '0')), decodeTime(beginning.padEnd(26, 'Z'))]
}

/** A new opaque id with a prefix, for tenants, users, tokens, grants. */
export function newId(prefix: string, nowMs: number): string {
  return `${prefix}_${nextUlid(nowMs)}`
}

/** A new id of a file, `file-<ULID>`: recognisable in the form that clients of files expect. */
export function newFileId(nowMs: number): string {
  return `file-${nextUlid(nowMs)}`
}

/** Whether a string has the shape of a file's id. */
export function isFileId(text: string): boolean {
  return /^file-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

/** A new id of an asset, `asset-<ULID>`. */
export function newAssetId(nowMs: number): string {
  return `asset-${nextUlid(nowMs)}`
}

/** Whether a string has the shape of an asset's id. */
export function isAssetId(text: string): boolean {
  return /^asset-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

/** A new id of a group of assets, `group-<ULID>`. */
export function newAssetGroupId(nowMs: number): string {
  return `group-${nextUlid(nowMs)}`
}

/** Whether a string has the shape of the id of a group of assets. */
export function isAssetGroupId(text: string): boolean {
  return /^group-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

/** A new id of an upload: 16 random digits, an integer that a double holds exactly. */
export function newUploadId(): string {
  const bits = randomBytes(8).readBigUInt64BE() & (2n ** 52n - 1n)
  return String(2n ** 52n + bits)
}

/** A new random UUID, for ids of the event store that are never looked up later. */
export function newUuid(): string {
  return randomUUID()
}

/** Bytes as a UUID of a version (RFC 9562): version and variant are set in them. */
function uuidOf(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (version << 4), 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Version 5: the namespace and the name, hashed. */
function nameUuid(name: string): string {
  return uuidOf(hash('sha1', Buffer.concat([EVENT_NAMESPACE, Buffer.from(name)]), 'buffer'), 5)
}

/** The id of the event a command produces at an index: a retry of the command is the same event. */
export function eventId(stream: string, commandId: string, index: number): string {
  return nameUuid(`${stream}\n${commandId}\n${index}`)
}

/**
 * The id of the event that a command leaves in the journal. A call's has the bits of its ULID, as version 8, since
 * hashing takes over three times as long. Only a process that makes the event derives its id, and only once: what is repeated
 * later, by another process or release, carries its id.
 */
export function recordId(commandId: string): string {
  const ulid = ulidOfCall(commandId)
  return ulid === undefined ? eventId('journal', commandId, 0) : uuidOf(bytesOfUlid(ulid), 8)
}

/** Whether a string has the shape of a token's id. */
export function isTokenId(text: string): boolean {
  return /^token_[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

const ulidDigits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** By the code of a digit. */
const digitValues = new Uint8Array(128)
for (let value = 0; value < ulidDigits.length; value += 1)
  digitValues[ulidDigits.charCodeAt(value)] = value
/** Used again and again: a buffer for each call would cost more than the rest. */
const ulidBytes = Buffer.alloc(16)

/** The number that some digits of a ULID stand for. */
function digitsAt(ulid: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at += 1)
    value = (value << 5) | (digitValues[ulid.charCodeAt(at)] ?? 0)
  return value
}

/** The 128 bits of a ULID, until the next is asked for: two digits are the first byte, eight are five bytes. */
function bytesOfUlid(ulid: string): Buffer {
  ulidBytes.writeUInt8(digitsAt(ulid, 0, 2), 0)
  for (let at = 2, byte = 1; at < 26; at += 8, byte += 5) {
    const last = digitsAt(ulid, at + 4, at + 8)
    ulidBytes.writeUInt32BE(((digitsAt(ulid, at, at + 4) << 12) | (last >>> 8)) >>> 0, byte)
    ulidBytes.writeUInt8(last & 0xff, byte + 4)
  }
  return ulidBytes
}

/** The id of a token that a name stands for: made twice, it is the same one. */
export function tokenIdFor(name: string): string {
  const bytes = [...hash('sha256', name, 'buffer').subarray(0, 26)]
  // The first digit of a ULID is at most 7.
  return `token_${bytes.map((byte, index) => ulidDigits[byte & (index === 0 ? 7 : 31)]).join('')}`
}

/** 256 random bits as base64url with a prefix (`sk-`, `pat-`, `qak-`, `adm-`): 43 characters follow. */
export function newSecret(prefix: string): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`
}

/** Random bytes that make a derived key unique; no secret. */
export function randomSalt(sizeBytes: number): Buffer {
  return randomBytes(sizeBytes)
}

/** Lower-case hex SHA-256. */
export function sha256Hex(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/** Hex digits of an id that follows from facts: 128 bits. */
const DERIVED_DIGITS = 32

/** An id that follows from facts, `<kind>_<hash>`: the same request gives the same id again. */
export function derivedId(kind: string, facts: readonly string[]): string {
  return `${kind}_${sha256Hex(JSON.stringify(facts)).slice(0, DERIVED_DIGITS)}`
}
