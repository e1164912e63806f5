import t from 'tap'
import { EventTable } from '../../../src/cli/replay/table.ts'
import { formatElapsed } from '../../../src/kernel/duration.ts'
import { platformId, Recorder, taskSteps } from '../../projections/support/history.ts'

t.test('elapsed time is shown in units that fit its length', (t) => {
  const hourMs = 3_600_000
  t.same([0, 999, 1_000, 59_990, 60_000, hourMs - 1, hourMs, 26 * hourMs, -70].map(formatElapsed), [
    '+0 ms',
    '+999 ms',
    '+1.0 s',
    '+59.9 s',
    '+1 min 0 s',
    '+59 min 59 s',
    '+1 h 0 min',
    '+1 d 2 h',
    '-70 ms',
  ])
  t.end()
})

t.test('a provider’s message stays in its row, shortened, without control characters', (t) => {
  const recorder = new Recorder()
  const stream = `task-${platformId(1)}`
  const message = `\u001b[2J\nno\r\u202e${'x'.repeat(500)}`
  const table = new EventTable(false)
  table.row(recorder.record(stream, taskSteps({ n: 1 }).requested))
  const row = table.row(
    recorder.record(stream, {
      type: 'TaskFailed',
      data: { platformId: platformId(1), code: 'refused', message, failedAt: '2026-03-04' },
    }),
  )
  t.match(row, / \+11 ms  TaskFailed +hold released +refused: {2}\[2J no x+…$/)
  t.notMatch(row, /[\p{Cc}\p{Cf}]/u)
  t.ok(row.length < 220, `${row.length} characters`)
  t.equal(table.footing(), '2 events in 11 ms, nothing to pay')
  t.end()
})
