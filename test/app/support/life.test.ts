import { catalog } from '../../../src/families/index.ts'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import { findLife, type Life } from '../../../src/app/support/life.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { applied, testPool } from '../../projections/support/database.ts'
import {
  lives,
  overlappingTasks,
  platformId,
  recordCall,
  Recorder,
  type Life as LifeName,
} from '../../projections/support/history.ts'

/** Lives of tasks and calls of every end, against their receipts and the ledger. */

const LIVES = propertyRuns(600)
const names = Object.keys(lives) as LifeName[]
/** The seed is shown where a life differs: a run with it makes the same histories. */
const seed = Number(process.env['LIVES_SEED'] ?? Date.now() % 1_000_000)
const chosen = fc.sample(
  fc.record({
    life: fc.constantFrom(...names),
    call: fc.constantFrom('none', 'settled', 'failed', 'absorbed'),
    refund: fc.constantFrom('none', 'part', 'all', 'takenBack'),
    isTask: fc.boolean(),
  }),
  { numRuns: LIVES, seed },
)

/** A call that failed, perhaps after the provider did its work. */
function failedCall(recorder: Recorder, n: number, isAbsorbed: boolean): RecordedEvent {
  const { data, stream, type } = recordCall(new Recorder(), n)
  if (type !== 'CallSettled') throw new Error('a call settles')
  const { settlement, usage, settledAt, outcome: _outcome, ...call } = data
  const failure = { code: 'server_error', message: 'The provider failed.', failedAt: settledAt }
  const absorbed = isAbsorbed ? { absorbed: { usage, settlement } } : {}
  return recorder.record(stream, { type: 'CallFailed', data: { ...call, ...failure, ...absorbed } })
}

function correction(
  recorder: Recorder,
  at: Date,
  { id, lineId, amount }: { readonly id: string; readonly lineId: string; readonly amount: bigint },
) {
  const [tenantId, currency] = ['tenant_1', lineId.startsWith('call') ? 'USD' : 'CNY'] as const
  return recorder.record(`account-${tenantId}`, {
    type: 'AdjustmentPosted',
    data: {
      tenantId,
      adjustmentId: id,
      currency,
      amount: formatAmount(amount),
      corrects: { kind: 'line', lineId },
      reason: 'broken',
      postedAt: at.toISOString(),
    },
  })
}

/** Gives a part of a settled line back, or all of it; or takes back a part of what was given. */
function refunds(recorder: Recorder, n: number, settled: RecordedEvent): RecordedEvent[] {
  if (settled.type !== 'TaskSettled' && settled.type !== 'CallSettled') return []
  const { refund } = chosen[n]!
  const [line] = settled.data.settlement.lines
  if (line === undefined || refund === 'none') return []
  const source = settled.type === 'TaskSettled' ? settled.data.platformId : settled.data.callId
  const whole = parseAmount(line.amount)
  const part = refund === 'all' ? whole : whole / 3n
  const at = settled.recordedAt
  const lineId = `${source}:1`
  const given = correction(recorder, at, { id: `adj_${source}_1`, lineId, amount: part })
  if (refund !== 'takenBack') return [given]
  const back = { id: `adj_${source}_2`, lineId, amount: -(part / 2n) }
  return [given, correction(recorder, at, back)]
}

function historyOf(recorder: Recorder): readonly RecordedEvent[] {
  const tasks = overlappingTasks(recorder, {
    tasks: LIVES,
    width: 17,
    life: (n) => chosen[n]?.life ?? 'settled',
  })
  const numbers = new Map(chosen.map((_, n) => [platformId(n), n]))
  const events: RecordedEvent[] = []
  let calls = 0
  for (const event of tasks) {
    events.push(event)
    if (event.type === 'TaskSettled')
      events.push(...refunds(recorder, numbers.get(event.data.platformId) ?? 0, event))
    if (event.type !== 'TaskRequested') continue
    const n = calls++
    const { call } = chosen[n]!
    if (call === 'none') continue
    const made =
      call === 'settled' ? recordCall(recorder, n) : failedCall(recorder, n, call === 'absorbed')
    events.push(made, ...refunds(recorder, n, made))
  }
  return events
}

const pool = await testPool(t)
const events = historyOf(new Recorder())
await applied(t, pool, events, [ledgerProjection, tasksProjection, timelineProjection], 500)

const asOf = events.at(-1)?.position ?? 0n

async function lifeOf(id: string): Promise<Life> {
  const found = await findLife(
    pool,
    id,
    { tenantId: 'tenant_1' },
    { catalog, asOf, urlsEndOf: () => Promise.resolve(undefined) },
  )
  if (found === undefined) throw new Error(`no life of ${id}`)
  return found
}

/** The sum of what the steps of a life moved by a word. */
function moved({ steps }: Life, word: string): bigint {
  return steps
    .flatMap(({ money }) => money)
    .filter((one) => one.word === word)
    .reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
}

/** Holds that the ledger has placed and not ended, by source. */
async function holdsPlaced(): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ source_id: string; amount: string }>(
    `select source_id, trim_scale(amount)::text as amount from ledger.holds where state = 'placed'`,
  )
  return new Map(rows.map(({ source_id: id, amount }) => [id, parseAmount(amount)]))
}

/** Sums of the ledger's lines and of their corrections, by source. */
async function sumsOfLines(): Promise<
  ReadonlyMap<string, { readonly amount: bigint; readonly given: bigint }>
> {
  const { rows } = await pool.query<{ source_id: string; amount: string; given: string }>(
    `select l.source_id, trim_scale(sum(l.amount))::text as amount,
            trim_scale(coalesce(sum((select sum(a.amount) from ledger.adjustments a
                                     where a.line_id = l.line_id)), 0))::text as given
     from ledger.lines l group by l.source_id`,
  )
  return new Map(
    rows.map(({ source_id: id, amount, given }) => [
      id,
      { amount: parseAmount(amount), given: parseAmount(given) },
    ]),
  )
}

function agrees(
  t: Test,
  life: Life,
  held: bigint,
  lines: { readonly amount: bigint; readonly given: bigint },
): boolean {
  const { receipt, steps } = life
  const last = steps.at(-1)
  if (receipt === undefined || last === undefined) return false
  const charged = moved(life, 'charged')
  const given = moved(life, 'given back') - moved(life, 'taken back')
  const freed = moved(life, 'held') - moved(life, 'freed') - charged
  const isTask = life.kind === 'task'
  const same =
    charged === lines.amount &&
    formatAmount(charged) === receipt.amount &&
    given === lines.given &&
    formatAmount(given) === receipt.adjusted &&
    formatAmount(charged - given) === receipt.net &&
    parseAmount(last.after.held) === held &&
    receipt.held === last.after.held &&
    last.after.charged === receipt.amount &&
    last.after.givenBack === receipt.adjusted &&
    last.after.net === receipt.net &&
    steps.every((step, index) => step.n === index + 1 && step.waitMs >= 0) &&
    // What was held is charged, freed or held.
    (!isTask || freed === held)
  if (!same) t.fail(`seed ${seed}: ${life.id}`, { steps, receipt, held, lines })
  return same
}

t.test('the money of the steps is that of the receipt, the lines and the holds', async (t) => {
  const [holds, lines] = [await holdsPlaced(), await sumsOfLines()]
  const nothing = { amount: 0n, given: 0n }
  let compared = 0
  for (const { type, data } of events) {
    if (type !== 'TaskRequested' && type !== 'CallSettled' && type !== 'CallFailed') continue
    const id = type === 'TaskRequested' ? data.platformId : data.callId
    const life = await lifeOf(id)
    compared += Number(agrees(t, life, holds.get(id) ?? 0n, lines.get(id) ?? nothing))
  }
  t.ok(compared >= LIVES, `${compared} lives agree`)
})

t.test('each kind of end has its state, and steps in words', async (t) => {
  const first = (name: LifeName) => chosen.findIndex(({ life }) => life === name)
  for (const name of names) {
    const n = first(name)
    if (n === -1) continue
    const life = await lifeOf(platformId(n))
    t.equal(life.steps.length > 0, true, name)
    for (const { title, by, types } of life.steps)
      t.notMatch(title, /^(?:Task|Call|$)/, `${name}: ${types.join()} by ${by}`)
    const hasEnded = life.state === 'settled' || life.state === 'not_billed'
    t.equal(life.deadlineAtMs === undefined, hasEnded, `${name}: ${life.state}`)
  }
})
