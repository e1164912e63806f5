import { Registry } from 'prom-client'
import t from 'tap'
import { createTaskMetrics } from '../../../src/app/metrics.ts'
import { createUnknownStatuses } from '../../../src/app/tasks/unknown-statuses.ts'

t.test(
  'a status that is unknown for ten minutes is counted by its word, of a bounded set',
  async (t) => {
    let nowMs = 0
    const clock = { nowMs: () => nowMs }
    const metrics = createTaskMetrics(new Registry())
    const note = createUnknownStatuses(metrics, clock)
    const counted = async (): Promise<Readonly<Record<string, number>>> => {
      const { values } = await metrics.statusesUnknown.get()
      return Object.fromEntries(values.map(({ labels, value }) => [String(labels.word), value]))
    }
    const unknown = (upstreamStatus: string) => ({ status: 'unknown', upstreamStatus }) as const
    note('task_1', unknown('In Review'))
    note('task_2', unknown('paused'))
    nowMs = 599_999
    note('task_1', unknown('In Review'))
    note('task_2', { status: 'running', upstreamStatus: 'running' })
    t.same(await counted(), { in_review: 0, paused: 0 }, 'a word begins at 0')
    nowMs = 600_000
    note('task_1', unknown('In Review'))
    note('task_1', unknown('In Review'))
    note('task_2', unknown('paused'))
    t.same(await counted(), { in_review: 1, paused: 0 })
    for (let task = 0; task < 50; task += 1) note(`task_a${task}`, unknown(`w${task}`))
    nowMs = 1_200_000
    for (let task = 0; task < 50; task += 1) note(`task_a${task}`, unknown(`w${task}`))
    const words = await counted()
    t.equal(Object.keys(words).length, 21)
    t.equal(words['other'], 32)
  },
)
