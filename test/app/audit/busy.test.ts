import t from 'tap'
import type { AuditState } from '../../../src/app/audit/state.ts'
import { lives, recordCall, recordStep, type Life } from '../../projections/support/history.ts'
import { append, startAudited } from './support/audited.ts'

const AUDITS = 4
const LIFE_NAMES = Object.keys(lives) as Life[]

t.test('an audit has no finding while tasks and calls go on', async (t) => {
  const run = await startAudited(t)
  const writing = new AbortController()
  let written = 0
  const write = async (): Promise<void> => {
    for (let n = 10_000; !writing.signal.aborted; n += 1) {
      const shape = { n, tenantId: `tenant_${n % 3}` }
      const steps = lives[LIFE_NAMES[n % LIFE_NAMES.length] ?? 'settled']
      const task = steps.map((step) => recordStep(run.recorder, shape, step))
      await append(run.log, [...task, recordCall(run.recorder, n)])
      written += task.length + 1
    }
  }
  const writer = write()
  let state: AuditState | undefined
  const onState = async (next: AuditState): Promise<void> => {
    state = next
    await Promise.resolve()
  }
  for (let n = 0; n < AUDITS; n += 1) {
    const before = written
    // One from the start and one from where the last one ended, in turns.
    const report = await run.audit({ onState, resume: n % 2 === 1 ? state : undefined })
    t.same(report.findings, [], `${written - before} events were written meanwhile`)
    t.equal(report.chain.brokenAt, undefined)
  }
  writing.abort()
  await writer
  t.ok(written > 50, `${written} events were written`)
  await run.caughtUp()
  t.same((await run.audit()).findings, [])
})
