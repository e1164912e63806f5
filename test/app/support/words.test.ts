import t from 'tap'
import {
  addressHoldsSecret,
  holdsSecret,
  type Lookup,
  MAX_WORDS,
  wordsIn,
} from '../../../src/app/support/words.ts'
import { newSecret } from '../../../src/kernel/ids.ts'

const ULID = '01M8BM4QZ6R3T8V5X2Y7W9ABCD'
const looksOf = (text: string): readonly Lookup[] =>
  wordsIn(text).words.flatMap(({ lookups, otherwise }) => [...lookups, ...otherwise])
const textsOf = (text: string): readonly string[] => wordsIn(text).words.map((word) => word.text)

t.test('an id is looked up by its form', (t) => {
  const forms: readonly (readonly [text: string, by: Lookup['by'], prefix: string])[] = [
    [`call_${ULID}`, 'call', `call_${ULID}`],
    [`chatcmpl-${ULID}`, 'call', `call_${ULID}`],
    [ULID, 'call', `call_${ULID}`],
    [`video_${ULID}`, 'source', `video_${ULID}`],
    [`image_${ULID}`, 'source', `image_${ULID}`],
    [`speech_${ULID}`, 'source', `speech_${ULID}`],
    [`file-${ULID}`, 'source', `file-${ULID}`],
    [`asset-${ULID}`, 'source', `asset-${ULID}`],
    [`group-${ULID}`, 'source', `group-${ULID}`],
    [`token_${ULID}`, 'source', `token_${ULID}`],
    [`req_${ULID}`, 'request', `req_${ULID}`],
    ['call_01M8BM', 'call', 'call_01M8BM'],
    ['REQ_01m8bm', 'request', 'req_01M8BM'],
    ['cgt-20261126-abc', 'nativeId', 'cgt-20261126-abc'],
    ['grant_demo_usd', 'credit', 'grant_demo_usd'],
    ['4503599627370497', 'source', '4503599627370497'],
  ]
  for (const [text, by, prefix] of forms)
    t.ok(
      looksOf(text).some((look) => look.by === by && 'prefix' in look && look.prefix === prefix),
      text,
    )
  t.match(looksOf(`call_${ULID}:1`), [{ by: 'line', id: `call_${ULID}:1` }])
  t.match(looksOf(`resp_${'Ab0-_'.repeat(12)}`), [{ by: 'response' }, { by: 'key' }])
  t.same(
    looksOf('Bs5k').map(({ by }) => by),
    ['last_four', 'key', 'owner', 'token_name', 'reference', 'note'],
  )
  // A secret may begin and end with a hyphen.
  for (const text of ['-vW4', 'vW4-', '_a-_', '----', ' -vW4\n'])
    t.match(looksOf(text)[0], { by: 'last_four', text: text.trim() }, text)
  t.end()
})

t.test('a shorter beginning, a letter that no ULID has, and other text are no ids', (t) => {
  for (const text of ['call_01M8B', 'call_01M8BU', `call_${ULID}0`, `call_8${ULID.slice(1)}`])
    t.notOk(
      looksOf(text).some(({ by }) => by === 'call'),
      text,
    )
  t.same(
    looksOf('a%').map(({ by }) => by),
    ['key', 'owner', 'token_name', 'reference', 'note'],
  )
  for (const text of ['', ' ', '\u0000', '%', '_']) t.same(textsOf(text).length <= 1, true, text)
  t.end()
})

t.test('ids are found in what is pasted', (t) => {
  const error = `{"error":{"message":"no","request_id":"req_${ULID}","code":"unavailable"}}`
  t.ok(textsOf(error).includes(`req_${ULID}`))
  const line = `2026-11-26T09:49:15.379Z INFO id:call_${ULID} GET /v1/videos/video_${ULID}, took 12 ms.`
  const words = textsOf(line)
  t.ok(words.includes(`call_${ULID}`), words.join(' | '))
  t.ok(words.includes(`video_${ULID}`))
  t.notOk(words.some((word) => word.startsWith('2026-11-26T') && word.length < 30))
  t.ok(textsOf(`"asset://asset-${ULID}".`).includes(`asset-${ULID}`))
  t.ok(looksOf('order 42').some((look) => look.by === 'key' && look.text === 'order 42'))
  t.ok(looksOf('Zoë Žižek').some((look) => look.by === 'owner' && look.text === 'Zoë Žižek'))
  t.end()
})

t.test('of many ids the first twenty are looked up, each once', (t) => {
  const ids = Array.from({ length: 1_000 }, (_, n) => `call_${ULID.slice(0, 22)}${1000 + n}`)
  const { words, left } = wordsIn([...ids, ...ids].join('\n'))
  t.same(
    words.map(({ text }) => text),
    ids.slice(0, MAX_WORDS),
  )
  t.equal(left, 980)
  t.end()
})

t.test('the secret of a token is recognised within any text', (t) => {
  for (const prefix of ['sk-', 'pat-', 'qak-', 'adm-']) {
    const secret = newSecret(prefix)
    for (const text of [secret, `Bearer ${secret}`, `"${secret}",`, `key=${secret}xyz`])
      t.ok(holdsSecret(text), prefix)
    t.ok(holdsSecret(`${prefix}aB3${'x'.repeat(17)}`), 'one that was cut off')
    t.notOk(holdsSecret(`${prefix}aB3${'x'.repeat(16)}`), 'too little of one')
    t.ok(addressHoldsSecret(`/console/find?q=Bearer%20${secret.replace('-', '%2D')}`))
  }
  t.notOk(holdsSecret(`task-${'a'.repeat(50)}`), 'a word that ends so')
  t.notOk(holdsSecret('adm-desk-of-the-night-shift-2'), 'a name')
  t.end()
})
