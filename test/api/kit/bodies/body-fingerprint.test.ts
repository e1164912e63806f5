import * as fc from 'fast-check'
import t from 'tap'
import {
  createFingerprintOf,
  hashOfEnds,
  repeatFactsOf,
} from '../../../../src/api/kit/bodies/body-fingerprint.ts'

const fingerprintOf = createFingerprintOf('a secret')
const of = (body: string, tenantId = 'tenant_1') => fingerprintOf(tenantId, Buffer.from(body))

t.test('equal bodies of a tenant have one fingerprint, whatever was read between', async (t) => {
  const first = of('{"prompt":"a paper boat"}')
  t.match(first, /^[A-Za-z0-9_-]{11}$/)
  of('x'.repeat(100_000))
  of('')
  t.equal(of('{"prompt":"a paper boat"}'), first)
  t.equal(
    createFingerprintOf('a secret')('tenant_1', Buffer.from('{"prompt":"a paper boat"}')),
    first,
  )
})

t.test('a body cannot be guessed without the secret, nor compared between tenants', async (t) => {
  const prompt = 'no'
  t.not(of(prompt), of(prompt, 'tenant_2'))
  t.not(createFingerprintOf('another secret')('tenant_1', Buffer.from(prompt)), of(prompt))
})

t.test(
  'a body that differs in its text, its length or an end has another fingerprint',
  async (t) => {
    const long = (middle: string) => `${'a'.repeat(4_096)}${middle}${'z'.repeat(4_096)}`
    const bodies = ['', 'a', 'b', 'aa', long(''), long('-'), long('--'), `b${long('-').slice(1)}`]
    const ends = [`${long('-').slice(0, -1)}y`, `${long('--').slice(0, -1)}\n`]
    const all = [...bodies, ...ends].map((body) => of(body))
    t.equal(new Set(all).size, all.length)
    t.equal(of(long('-')), of(long('+')), 'the middle of a long body is not read')
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 9_000 }),
        fc.uint8Array({ maxLength: 9_000 }),
        (a, b) => {
          const isSame = Buffer.compare(a, b) === 0
          return isSame || a.length === b.length || fingerprintOf('t', a) !== fingerprintOf('t', b)
        },
      ),
    )
  },
)

t.test('names of tenants do not run into bodies', async (t) => {
  t.not(of('1\nx', 'a'), of('x', 'a\n1'))
  t.equal(typeof of('x', 'é'.repeat(5_000)), 'string', 'a long name fits')
})

t.test('files of a form count by their ends', async (t) => {
  const file = Buffer.alloc(20_000, 1)
  const before = hashOfEnds(file)
  file[10_000] = 2
  t.equal(hashOfEnds(file), before)
  file[19_999] = 2
  t.not(hashOfEnds(file), before)
})

t.test(
  'the retry count of a library is taken where it is a number, and ignored otherwise',
  async (t) => {
    const retryOf = (value: string | string[] | undefined) =>
      repeatFactsOf({ bodyFingerprint: undefined, headers: { 'x-stainless-retry-count': value } })
        .repeat
    t.same(retryOf('1'), { retry: 1 })
    t.same(retryOf('999'), { retry: 999 })
    for (const odd of [
      '0',
      '',
      ' 1',
      '01',
      '1.5',
      '-1',
      '1000',
      '9'.repeat(400),
      'x',
      '1, 2',
      '１',
    ])
      t.same(retryOf(odd), {}, odd)
    t.same(retryOf(['1', '2']), {})
    t.same(retryOf(undefined), {})
    t.same(repeatFactsOf({ bodyFingerprint: 'f', headers: {} }).repeat, { bodyFingerprint: 'f' })
  },
)
