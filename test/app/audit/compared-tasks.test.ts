import t, { type Test } from 'tap'
import { audit } from '../../../src/app/audit/audit.ts'
import { SourceMemory } from '../../../src/app/audit/source-memory.ts'
import { taskStreams } from '../../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { allProjections } from '../../../projections/registry.ts'
import {
  openTenant,
  platformId,
  Recorder,
  recordStep,
  type TaskStep,
} from '../../projections/support/history.ts'
import { ScriptedLog } from '../../projections/support/memory-log.ts'
import { history, publishBook, takenIn } from './support/audited.ts'

const TASKS = 1_500
/** Fewer than the tasks: the later events of most come when memory has given them up. */
const FEW = 100

/** Notes of which tasks the streams are read. */
function readsOf(log: ScriptedLog): string[] {
  const reads: string[] = []
  const { readStream } = log
  log.readStream = async (stream, options) => {
    if (stream.startsWith(taskStreams)) reads.push(stream)
    return readStream(stream, options)
  }
  return reads
}

/** Every task is requested before the first goes on. */
function spread(recorder: Recorder, ...later: readonly TaskStep[]): readonly RecordedEvent[] {
  const step = (name: TaskStep) =>
    Array.from({ length: TASKS }, (_, n) => recordStep(recorder, { n }, name))
  const begun = [publishBook(recorder), ...openTenant(recorder, 'tenant_1'), ...step('requested')]
  return [...begun, ...later.flatMap(step)]
}

async function spreadTasks(t: Test) {
  const events = spread(new Recorder(), 'refused')
  const { pool, log } = await takenIn(t, events)
  const reads = readsOf(log)
  const audited = async (maxRemembered?: number) => {
    reads.length = 0
    const limit = maxRemembered === undefined ? {} : { maxRemembered }
    return audit({ pool, log, models: allProjections, ...limit })
  }
  return { pool, events, reads, audited }
}

t.test('tasks whose events lie close together cost no reading of their streams', async (t) => {
  const { pool, log } = await takenIn(t, history(new Recorder(), 300))
  const reads = readsOf(log)
  const report = await audit({ pool, log, models: allProjections })
  t.match(report, { ok: true, tasks: 300, findings: [] })
  t.same(reads, [])
})

t.test(
  'tasks whose events lie far apart cost one reading each, the rows wrong or not',
  async (t) => {
    const { pool, events, reads, audited } = await spreadTasks(t)
    t.match(await audited(), { ok: true, tasks: TASKS })
    t.same(reads, [], 'memory holds them all')
    t.match(await audited(FEW), { ok: true, tasks: TASKS })
    t.equal(new Set(reads).size, reads.length, 'none twice')
    t.ok(reads.length > 900, `${reads.length} were given up and read again`)

    /** Changes rows, audits with both limits, and undoes it. Returns the findings, which must be the same. */
    const found = async (change: string, undo: string): Promise<readonly string[]> => {
      await pool.query(change)
      const [whole, few] = [await foundWith(undefined), await foundWith(FEW)]
      t.same(few, whole)
      await pool.query(undo)
      return whole
    }
    const foundWith = async (limit?: number): Promise<readonly string[]> => {
      const { findings } = await audited(limit)
      if (limit === undefined) t.ok(reads.length <= 5, `${reads.length} streams are read for it`)
      return findings.map(({ code, table, key }) => `${code} ${table} ${key}`)
    }
    const [first, last] = [platformId(3), platformId(TASKS - 1)]

    t.same(
      await found(
        `update tasks.tasks set marker = marker || 'x' where platform_id in ('${first}', '${last}')`,
        `update tasks.tasks set marker = trim('x' from marker)`,
      ),
      [`row_differs tasks.tasks ${first}`, `row_differs tasks.tasks ${last}`],
    )
    await pool.query(`create table public.kept_tasks as table tasks.tasks;
                    create table public.kept_holds as table ledger.holds`)
    const [requested] = events.filter(
      ({ type, stream }) => type === 'TaskRequested' && stream === `${taskStreams}${first}`,
    )
    t.same(
      await found(
        `update tasks.tasks set submission = 'requested', status = 'queued', visible = true, error = null,
         updated_at_ms = requested_at_ms, revision = 0, position = ${requested?.position}
       where platform_id = '${first}';
       update ledger.holds set state = 'placed', closed_at = null, position = ${requested?.position}
       where source_id = '${first}'`,
        `delete from tasks.tasks where platform_id = '${first}';
       insert into tasks.tasks select * from public.kept_tasks where platform_id = '${first}';
       delete from ledger.holds where source_id = '${first}';
       insert into ledger.holds select * from public.kept_holds where source_id = '${first}'`,
      ),
      [`row_differs tasks.tasks ${first}`, `row_differs ledger.holds ${first}`],
      'rows as they were before the last event',
    )
    t.same(
      await found(
        `insert into tasks.tasks select (jsonb_populate_record(t,
         '{"platform_id": "video_forged", "seq": 900000, "visible": false}')).*
       from tasks.tasks t where platform_id = '${first}'`,
        `delete from tasks.tasks where platform_id = 'video_forged'`,
      ),
      ['row_unexplained tasks.tasks video_forged'],
    )
    t.same(
      await found(
        `insert into tasks.polls
       select 'video_forged', 'tenant_1', 'video-a', 'channel_1', null, 'poll', 0, 0, 0`,
        `delete from tasks.polls where platform_id = 'video_forged'`,
      ),
      ['row_unexplained tasks.polls video_forged'],
    )
  },
)

t.test('what is remembered of tasks is bounded, however many there are', (t) => {
  const onRecalled = () => t.fail('nothing is read again')
  const memory = new SourceMemory({ log: new ScriptedLog(), onRecalled })
  const recorder = new Recorder()
  const stretch = 2_000
  let given = 0
  let most = 0
  for (let n = 0; n < 40_000; n += 1) {
    for (const step of ['requested', 'submitted'] as const)
      memory.take(recordStep(recorder, { n }, step))
    if (n % (stretch / 2) !== 0) continue
    given += memory.forget().length
    most = Math.max(most, memory.remembered)
  }
  t.ok(most <= 50_000, `${most} events`)
  t.ok(given >= 14_000, `${given} tasks were given up`)
  t.end()
})
