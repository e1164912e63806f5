import t from 'tap'
import { LedgerFloor } from '../../../src/app/spending/ledger-floor.ts'

function floorOf() {
  let nowMs = 0
  const floor = new LedgerFloor({ nowMs: () => nowMs })
  return {
    floor,
    pass: (ms: number) => void (nowMs += ms),
    read: (position: bigint) => floor.allows(position, floor.mark()),
  }
}

t.test('an older reading answered late is not taken for a ledger that went back', async (t) => {
  const { floor, read } = floorOf()
  const sent = floor.mark()
  t.ok(read(10n))
  t.ok(floor.allows(9n, sent), 'it was sent before the other was answered')
  t.ok(read(10n))
})

t.test('a ledger that went back is trusted once it has passed its earlier position', async (t) => {
  const { floor, read, pass } = floorOf()
  floor.appended(14n)
  t.ok(read(10n), 'that it has not reached what was just appended is no sign')
  const before = floor.mark()
  t.notOk(read(7n))
  pass(29_999)
  t.notOk(read(13n), 'holds may be lost that the log has')
  t.notOk(floor.allows(13n, before))
  t.ok(read(14n))
  t.equal(floor.era, 0)
  t.ok(read(14n))
})

t.test('a ledger that stays back is trusted as it is after 30 s', async (t) => {
  const { floor, read, pass } = floorOf()
  read(10n)
  t.notOk(read(7n))
  pass(30_000)
  const before = floor.mark()
  t.ok(read(8n))
  t.equal(floor.era, 1)
  t.notOk(floor.allows(10n, before), 'what was sent before that is of another ledger')
  t.ok(read(8n))
  t.notOk(read(7n), 'it may go back once more')
})
