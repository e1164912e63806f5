import t from 'tap'
import type { FoundToken } from '../../../projections/access/query.ts'
import { TokenCache } from '../../../src/app/access/token-cache.ts'

const token = (tokenId: string, name = 'first') => ({ tokenId, name }) as FoundToken

t.test('a cached token is used, then looked up again, then not used any more', async (t) => {
  let nowMs = 1_000_000
  const cache = new TokenCache({ nowMs: () => nowMs })
  t.equal(cache.get('a'), undefined)
  cache.set('a', token('tok_1'))
  cache.set('b', undefined)
  t.same(cache.get('a'), { token: token('tok_1'), isOld: false })
  t.same(cache.get('b'), { token: undefined, isOld: false })
  nowMs += 5_000
  t.equal(cache.get('b'), undefined, 'what does not exist may by then')
  nowMs += 24_999
  t.match(cache.get('a'), { isOld: false })
  nowMs += 1
  t.match(cache.get('a'), { isOld: true })
  nowMs += 89_999
  t.match(cache.get('a'), { isOld: true })
  nowMs += 1
  t.equal(cache.get('a'), undefined)
  cache.set('a', token('tok_1', 'second'))
  t.match(cache.get('a'), { token: { name: 'second' }, isOld: false })
})

t.test('forgetting a token removes all its secrets and no other token', async (t) => {
  const cache = new TokenCache({ nowMs: () => 0 })
  for (const [hash, tokenId] of [
    ['a', 'tok_1'],
    ['b', 'tok_1'],
    ['c', 'tok_2'],
  ] as const)
    cache.set(hash, token(tokenId))
  cache.forget('tok_1')
  cache.forget('tok_9')
  t.equal(cache.get('a'), undefined)
  t.equal(cache.get('b'), undefined)
  t.ok(cache.get('c'))
  cache.set('a', token('tok_1'))
  cache.forget('tok_1')
  t.equal(cache.get('a'), undefined, 'also once it was read again')
  cache.set('d', undefined)
  cache.set('d', token('tok_3'))
  t.match(cache.get('d'), { token: { tokenId: 'tok_3' } }, 'issued meanwhile')
  cache.delete('d')
  t.equal(cache.get('d'), undefined)
})

t.test('a token is recalled for twelve hours, and not once an event has changed it', async (t) => {
  let nowMs = 0
  const cache = new TokenCache({ nowMs: () => nowMs })
  t.equal(cache.recall('a'), undefined)
  cache.set('a', token('tok_1'))
  cache.set('b', token('tok_2'))
  cache.set('c', undefined)
  nowMs += 600_000
  t.equal(cache.get('a'), undefined)
  t.same(cache.recall('a'), token('tok_1'))
  t.equal(cache.recall('c'), undefined)
  cache.forget('tok_1')
  t.equal(cache.recall('a'), undefined, 'changed')
  cache.delete('b')
  t.equal(cache.recall('b'), undefined, 'rotated')
  cache.set('a', token('tok_1'))
  nowMs += 12 * 3_600_000 - 1
  t.same(cache.recall('a'), token('tok_1'))
  nowMs += 1
  t.equal(cache.recall('a'), undefined)
})

t.test('guesses evict no token, and changes stay quick', async (t) => {
  const cache = new TokenCache({ nowMs: () => 0 })
  cache.set('a', token('tok_a'))
  for (let n = 0; n < 50_000; n += 1) cache.set(`guess ${n}`, undefined)
  t.ok(cache.get('a'))
  t.equal(cache.get('guess 0'), undefined, 'bounded')
  for (let n = 0; n < 450_000; n += 1) cache.set(`secret ${n}`, token(`tok_${n}`))
  t.equal(cache.get('a'), undefined, 'the oldest are pushed out')
  t.ok(cache.get('secret 449999'))
  cache.forget('tok_449999')
  t.equal(cache.get('secret 449999'), undefined)
  cache.forget('tok_0')
})
