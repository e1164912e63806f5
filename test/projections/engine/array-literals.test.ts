import * as fc from 'fast-check'
import t from 'tap'
import {
  jsonColumn,
  plainColumn,
  storable,
  textColumn,
} from '../../../projections/engine/array-literals.ts'
import { testPool } from '../support/database.ts'
import { character } from '../../helpers/characters.ts'

/** Any JavaScript string: also lone surrogates, NUL, quotes, backslashes, braces. */
const anyText = fc.oneof(
  fc.string({ unit: character }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      '{',
      '}',
      ',',
      '\u0000',
      '\ud800',
      '\udc00',
      'NULL',
      ' ',
      '\n',
      'é',
    ),
  }),
)

t.test('columns arrive unchanged, but for text that Postgres cannot store', async (t) => {
  const pool = await testPool(t, 2)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(anyText)),
      fc.array(
        fc.option(fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }))),
      ),
      fc.array(
        fc.option(fc.dictionary(anyText, fc.oneof(anyText, fc.array(anyText), fc.integer()))),
      ),
      async (texts, numbers, documents) => {
        const { rows } = await pool.query<{
          texts: string[]
          numbers: string[]
          documents: unknown[]
        }>(
          'select $1::text[] as texts, $2::bigint[]::text[] as numbers, to_json($3::jsonb[]) as documents',
          [textColumn(texts), plainColumn(numbers), jsonColumn(documents)],
        )
        const [row] = rows
        const wanted = texts.map((text) => (text === null ? null : storable(text)))
        if (JSON.stringify(row?.texts) !== JSON.stringify(wanted)) throw new Error('texts differ')
        if (
          JSON.stringify(row?.numbers) !==
          JSON.stringify(numbers.map((n) => (n === null ? null : String(n))))
        )
          throw new Error('numbers differ')
        if (row?.documents.length !== documents.length) throw new Error('documents differ')
      },
    ),
    { numRuns: 150, interruptAfterTimeLimit: 8_000 },
  )
  t.pass('for every column')
})

t.test('text that cannot be stored becomes the replacement character', async (t) => {
  const pool = await testPool(t, 2)
  t.equal(storable('a\u0000b\ud800c😀'), 'a\ufffdb\ufffdc😀')
  const { rows } = await pool.query<{ documents: unknown[] }>(
    'select to_json($1::jsonb[]) as documents',
    [jsonColumn([{ 'k\u0000': ['\udc00', { deep: '\\u0000 stays' }], n: 1 }, undefined])],
  )
  t.same(rows[0]?.documents, [{ 'k\ufffd': ['\ufffd', { deep: '\\u0000 stays' }], n: 1 }, null])
})
