import t from 'tap'
import { AsciiText } from '../../../src/kernel/ascii-text.ts'
import { jsonInPieces } from '../../../src/api/kit/json-in-pieces.ts'

const written = (value: unknown): string => Buffer.concat(jsonInPieces(value)).toString()

void t.test('bytes are written as the text they are, everything else as JSON', (t) => {
  const base64 = new AsciiText(Buffer.from('QUJDRA=='))
  const value = {
    created: 7,
    data: [{ b64_json: base64, note: 'é "' }, { b64_json: base64 }],
    a: null,
  }
  t.equal(
    written(value),
    JSON.stringify({
      ...value,
      data: [{ b64_json: 'QUJDRA==', note: 'é "' }, { b64_json: 'QUJDRA==' }],
    }),
  )
  t.equal(jsonInPieces(value).filter((piece) => piece === base64.pieces[0]).length, 2, 'not copied')
  for (const plain of [{}, [], 'x', 7, { a: { b: [1] } }])
    t.equal(written(plain), JSON.stringify(plain))
  t.end()
})
