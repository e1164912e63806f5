import { parseStrictJson } from '../../../../src/api/kit/strict-json.ts'

/**
 * Does to a large body what a request does until it is sent, and prints by how many times its size the
 * memory of the process has grown at most.
 */
const SIZE_BYTES = 32 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

const [kind] = process.argv.slice(2)
/** Of the process so far. */
const mostBytes = (): number => process.resourceUsage().maxRSS * 1024

function* pieces(): Generator<Buffer> {
  yield Buffer.from(`{"prompt":"${kind === 'ascii' ? 'a' : '語'}","image":"`)
  for (let made = 0; made < SIZE_BYTES; made += PIECE_BYTES) yield Buffer.alloc(PIECE_BYTES, 'A')
  yield Buffer.from('"}')
}

/** What nobody holds any more is not counted: the engine takes it back before it runs short. */
function settled<Value>(value: Value): Value {
  globalThis.gc?.()
  return value
}

const before = mostBytes()
const read = (): object => {
  const body = settled(Buffer.concat([...pieces()]))
  return parseStrictJson(body, true) as object
}
const value = settled(read())
const sent = Buffer.from(JSON.stringify({ ...value, model: 'upstream' }))
if (sent.length < SIZE_BYTES) throw new Error('less was sent')
process.stdout.write(((mostBytes() - before) / sent.length).toFixed(2))
