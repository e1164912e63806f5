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
  const hashes = together.ahead(lines) ?? []
  t.equal(hashes.length, lines.length)
  t.same(together.head, begun().head, 'looking ahead moves nothing')
  together.advance(hashes)
  for (const [at, line] of lines.entries())
    t.equal(single.next(line, { ...line, hash: hashes[at] }), undefined)
  t.same(together.head, single.head)
  t.equal(together.standing, single.standing)
  t.equal(together.brokenAt, undefined)
  together.advance([])
  t.same(together.head, single.head)
  t.end()
})

void t.test('a chain that left the log’s cannot be told ahead', (t) => {
  const [first, ...rest] = lines
  if (first === undefined) return t.end()
  const broken = begun()
  broken.next(first, { ...first, hash: 'ff' })
  t.equal(broken.ahead(rest), undefined)
  const stray = begun()
  stray.stray({ hash: 'ff' })
  t.equal(stray.ahead(lines), undefined, 'nor one that a stranger may have been put into')
  t.end()
})
