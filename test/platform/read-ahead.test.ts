import t from 'tap'
import { ReadAhead, RecentUse } from '../../src/platform/read-ahead.ts'
import { currentSharer, runFor } from '../../src/platform/sharer-context.ts'

/** Reads that a test ends one by one, valid for 2 s and renewed after 1 s. */
function scene() {
  let nowMs = 1_000
  const reads: { readonly key: string; readonly end: (error?: Error) => void }[] = []
  const ahead = new ReadAhead<string>({
    validForMs: 2_000,
    renewAfterMs: 1_000,
    clock: { nowMs: () => nowMs },
    read: (key) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(`${key} as read`))
        reads.push({ key, end })
      }),
  })
  return { ahead, reads, pass: (ms: number) => void (nowMs += ms) }
}

const down = new Error('the store is down')
/** Lets a read that has ended be noticed. */
const noticed = () => new Promise((resolve) => setImmediate(resolve))

t.test(
  'a fresh value is not read, an older one in the background, an outdated one awaited',
  async (t) => {
    const { ahead, reads } = scene()
    t.equal(ahead.awaited('a', 999), undefined)
    t.equal(reads.length, 0)
    t.equal(ahead.awaited('a', 1_000), undefined, 'nobody waits for a valid value')
    t.equal(ahead.awaited('a', 1_999), undefined)
    t.equal(reads.length, 1, 'one read at a time')
    const waiting = [ahead.awaited('a', 2_000), ahead.awaited('a', Infinity)]
    const other = ahead.awaited('b', Infinity)
    t.same(
      reads.map(({ key }) => key),
      ['a', 'b'],
      'those who wait share the read that is under way',
    )
    for (const { end } of reads) end()
    t.same(await Promise.all([...waiting, other]), ['a as read', 'a as read', 'b as read'])
    void ahead.awaited('a', 2_000)
    t.equal(reads.length, 3, 'the next read begins once the last has ended')
  },
)

t.test('a failed read is repeated after a pause, not by each caller', async (t) => {
  const { ahead, reads, pass } = scene()
  void ahead.awaited('a', 1_500)
  reads[0]?.end(down)
  await noticed()
  for (let call = 0; call < 50; call += 1) t.equal(ahead.awaited('a', 1_600), undefined)
  await t.rejects(Promise.resolve(ahead.awaited('a', 2_000)), down)
  t.equal(reads.length, 1)
  void ahead.awaited('b', 2_000)
  t.equal(reads.length, 2, 'another key is read')
  pass(100)
  const waiting = ahead.awaited('a', 2_000)
  t.equal(reads.length, 3)
  reads[2]?.end()
  t.equal(await waiting, 'a as read')
  const next = ahead.awaited('a', 2_000)
  reads[3]?.end()
  t.equal(await next, 'a as read', 'no pause after a read that worked')
})

t.test('a read runs for no token, whichever caller began it', async (t) => {
  const tokens: (string | undefined)[] = []
  const ahead = new ReadAhead<void>({
    validForMs: 2,
    renewAfterMs: 1,
    read: () => Promise.resolve(void tokens.push(currentSharer()?.user)),
  })
  runFor({ user: 'token_1', tenant: 'tenant_1' }, () => void ahead.awaited('a', 1))
  t.same(tokens, [undefined])
})

t.test('a value is renewed for ten rounds after its last use', async (t) => {
  const use = new RecentUse()
  const rounds = () => Array.from({ length: 12 }, () => use.countRound()).filter(Boolean).length
  t.equal(rounds(), 0)
  use.used()
  t.equal(rounds(), 10)
  use.used()
  use.countRound()
  use.used()
  t.equal(rounds(), 10)
})
