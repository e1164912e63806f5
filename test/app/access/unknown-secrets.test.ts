import t from 'tap'
import { Registry } from 'prom-client'
import { UnknownSecrets } from '../../../src/app/access/unknown-secrets.ts'

t.test('unknown tokens of an address are limited a minute, and the limit refills evenly', (t) => {
  let nowMs = 0
  const guesses = new UnknownSecrets(6, { nowMs: () => nowMs })
  for (let n = 0; n < 6; n += 1) {
    t.equal(guesses.waitMs('203.0.113.9'), 0)
    t.equal(guesses.tried('203.0.113.9'), 0)
  }
  t.equal(guesses.waitMs('203.0.113.9'), 10_000)
  t.equal(guesses.tried('203.0.113.9'), 10_000, 'what is refused takes nothing')
  t.equal(guesses.waitMs('::ffff:203.0.113.9'), 10_000, 'the same address')
  t.equal(guesses.tried('203.0.113.8'), 0, 'another')
  nowMs += 10_000
  t.equal(guesses.tried('203.0.113.9'), 0)
  t.equal(guesses.waitMs('203.0.113.9'), 10_000)
  nowMs += 60_000
  t.equal(guesses.waitMs('203.0.113.9'), 0)
  t.end()
})

t.test('the metric counts unknown tokens by their answer, 401 and 429', async (t) => {
  const registry = new Registry()
  const guesses = new UnknownSecrets(1, { nowMs: () => 0 }, registry)
  guesses.waitMs('192.0.2.1')
  guesses.tried('192.0.2.1')
  guesses.tried('192.0.2.1')
  guesses.waitMs('192.0.2.1')
  const text = await registry.metrics()
  t.match(text, 'tollgate_unknown_tokens_total{answer="401"} 1')
  t.match(text, 'tollgate_unknown_tokens_total{answer="429"} 2')
})

t.test('addresses of one IPv6 /64 network share a limit', (t) => {
  const guesses = new UnknownSecrets(1, { nowMs: () => 0 })
  t.equal(guesses.tried('2001:db8:1:2::1'), 0)
  t.equal(guesses.waitMs('2001:db8:1:2:ffff::9'), 60_000)
  t.equal(guesses.waitMs('2001:db8:1:3::1'), 0)
  t.equal(guesses.tried('no address'), 0, 'whatever it is')
  t.equal(guesses.waitMs('no address'), 60_000)
  t.end()
})

t.test('remembered addresses are bounded, and the least recent go first', (t) => {
  const guesses = new UnknownSecrets(1, { nowMs: () => 0 })
  guesses.tried('192.0.2.1')
  guesses.tried('192.0.2.2')
  for (let n = 0; n < 19_999; n += 1) {
    guesses.tried(`10.0.${n >> 8}.${n & 255}`)
    if (n === 10_000) guesses.tried('192.0.2.1')
  }
  t.equal(guesses.waitMs('192.0.2.1'), 60_000)
  t.equal(guesses.waitMs('192.0.2.2'), 0)
  t.end()
})
