import { readFileSync } from 'node:fs'
import { parseMediaJson, parseStrictJson } from '../../../../src/api/kit/bodies/json-body.ts'
import { readStrictDataUri } from '../../../../src/domain/catalog/checks/media.ts'
import { jsonInPieces } from '../../../../src/families/kit/http/json.ts'

/**
 * Does to a large body what a request does until it is sent, and prints by how many times its size the
 * memory of the process has grown at most. `media`: its data URI is left as the bytes it came as.
 */
const SIZE_BYTES = 32 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

const [kind] = process.argv.slice(2)
/**
 * Of the process so far. What `resourceUsage` says begins with what the process that started this one had; `VmHWM` of
 * Linux does not.
 */
function mostBytes(): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(statusOfSelf()) ?? []
  return 1024 * (kib === undefined ? process.resourceUsage().maxRSS : Number(kib))
}

function statusOfSelf(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}

function* pieces(): Generator<Buffer> {
  const prompt = kind === 'other' ? '語' : 'a'
  yield Buffer.from(`{"prompt":"${prompt}","image":"data:video/mp4;base64,`)
  for (let made = 0; made < SIZE_BYTES; made += PIECE_BYTES) yield Buffer.alloc(PIECE_BYTES, 'A')
  yield Buffer.from('"}')
}

/** Unreferenced memory is not counted: the engine frees it before it runs short. */
function settled<Value>(value: Value): Value {
  globalThis.gc?.()
  return value
}

const before = mostBytes()

/** @returns how many bytes are sent */
function asText(): number {
  const read = (): object => parseStrictJson(settled(Buffer.concat([...pieces()])), true) as object
  const value = settled(read())
  return Buffer.from(JSON.stringify({ ...value, model: 'upstream' })).length
}

function asMedia(): number {
  const value = parseMediaJson(settled(Buffer.concat([...pieces()]))) as { readonly image: never }
  if (readStrictDataUri(value.image) === undefined) throw new Error('it is no data URI')
  let sentBytes = 0
  for (const { length } of jsonInPieces({ ...value, model: 'upstream' }).pieces) sentBytes += length
  return sentBytes
}

const sentBytes = kind === 'media' ? asMedia() : asText()
if (sentBytes < SIZE_BYTES) throw new Error('less was sent')
process.stdout.write(((mostBytes() - before) / sentBytes).toFixed(2))
