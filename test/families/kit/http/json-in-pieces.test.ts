import * as fc from 'fast-check'
import t from 'tap'
import { InBase64, jsonInPieces } from '../../../../src/families/kit/http/json.ts'

const whole = (pieces: Iterable<Uint8Array>): Buffer => Buffer.concat([...pieces])

void t.test('bytes are written as base64 into their JSON, on every attempt', (t) => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.uint8Array({ maxLength: 40 })), (text, blobs) => {
      const parts = (data: (bytes: Uint8Array) => unknown) => ({
        text,
        parts: blobs.map((bytes, index) => ({ index, data: data(bytes) })),
        last: text,
      })
      const body = jsonInPieces(parts((bytes) => new InBase64(bytes, 'data:image/png;base64,')))
      const said = parts(
        (bytes) => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`,
      )
      const once = whole(body.pieces)
      return (
        JSON.stringify(JSON.parse(once.toString())) === JSON.stringify(said) &&
        body.lengthBytes === once.length &&
        once.equals(whole(body.pieces))
      )
    }),
  )
  t.end()
})

void t.test('a large picture is never one base64 string', (t) => {
  const bytes = Buffer.alloc(1_000_001, 7)
  const body = jsonInPieces({ data: new InBase64(bytes) })
  const pieces = [...body.pieces]
  t.ok(Math.max(...pieces.map(({ length }) => length)) <= 256 * 1024)
  const read = JSON.parse(whole(pieces).toString()) as { data: string }
  t.ok(Buffer.from(read.data, 'base64').equals(bytes))
  t.end()
})
