import t from 'tap'
import { createRetryLog } from '../../src/kernel/retry-log.ts'

t.test('a first failure is logged, then one in 30 s with the number suppressed', (t) => {
  const said: object[] = []
  let nowMs = 5
  const log = createRetryLog({ warn: (fields) => said.push(fields) }, () => nowMs)
  for (let n = 0; n < 10; n += 1) log.failed({ n }, 'it failed')
  t.same(said, [{ n: 0 }])
  nowMs += 29_999
  log.failed({ n: 10 }, 'it failed')
  t.equal(said.length, 1)
  nowMs += 1
  log.failed({ n: 11 }, 'it failed')
  t.same(said[1], { n: 11, failuresUnsaid: 10 })
  log.worked()
  log.failed({ n: 12 }, 'it failed')
  t.same(said[2], { n: 12 }, 'what worked in between fails anew')
  t.end()
})
