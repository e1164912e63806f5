import { Counter } from 'prom-client'
import t from 'tap'
import { beginAtZero } from '../../src/platform/counters.ts'

t.test('a counter begins at 0 for each combination, and keeps what was counted', async (t) => {
  const counter = new Counter({
    name: 'tried_total',
    help: 'x',
    labelNames: ['channel', 'outcome'],
    registers: [],
  })
  counter.inc({ channel: 'a', outcome: 'bad' }, 2)
  beginAtZero(counter, { channel: ['a', 'b'], outcome: ['good', 'bad'] })
  const { values } = await counter.get()
  t.same(
    values.map(({ labels, value }) => `${labels.channel} ${labels.outcome} ${value}`).toSorted(),
    ['a bad 2', 'a good 0', 'b bad 0', 'b good 0'],
  )
})
