import t from 'tap'
import type { Expected } from '../../../src/app/audit/compare.ts'
import { LineChain, NO_LINES } from '../../../src/app/audit/line-chain.ts'

const lines: readonly Expected[] = ['a', 'b', 'c', 'd'].map((id, at) => ({
  line_id: id,
  position: BigInt(at),
  amount: '1',
  hash: undefined,
}))

const begun = (): LineChain => new LineChain({ lines: 0n, hash: NO_LINES })

void t.test('lines taken together leave the chain as lines taken one by one do', (t) => {
  const [together, single] = [begun(), begun()]
  const links = together.ahead(lines) ?? []
  t.equal(links.length, lines.length)
  t.same(together.head, begun().head, 'looking ahead moves nothing')
  together.advance(links)
  for (const [at, line] of lines.entries()) t.same(single.next(line, { ...line, ...links[at] }), [])
  t.same(together.head, single.head)
  t.equal(together.storedHead, single.storedHead)
  t.equal(together.brokenAt, undefined)
  together.advance([])
  t.same(together.head, single.head)
  t.end()
})

void t.test('the hash after a broken chain cannot be predicted', (t) => {
  const [first, ...rest] = lines
  if (first === undefined) return t.end()
  const broken = begun()
  broken.next(first, { ...first, seq: '1', hash: 'ff' })
  t.equal(broken.ahead(rest), undefined)
  const stray = begun()
  stray.stray({ seq: '1', hash: 'ff' })
  t.equal(stray.ahead(lines), undefined, 'nor one that a stranger may have been put into')
  t.end()
})

void t.test('a line has its number from the log, or follows the line before it', (t) => {
  const links = begun().ahead(lines) ?? []
  const rows = lines.map((line, at) => ({ ...line, ...links[at] }))
  const moved = begun()
  const found = lines.map((line, at) =>
    moved.next(line, at === 1 ? { ...rows[at], seq: '9' } : rows[at]),
  )
  t.same(found, [[], [{ field: 'seq', log: '2', stands: '9' }], [], []])
  // As a ledger that lost the first line goes on.
  const [, ...later] = lines
  const lost = begun()
  const chainedOn = lost.ahead(later) ?? []
  t.same(lost.next(lines[0] ?? {}, undefined), [])
  for (const [at, line] of later.entries())
    t.same(lost.next(line, { ...line, ...chainedOn[at] }), [])
  t.equal(lost.brokenAt, '0')
  t.end()
})
