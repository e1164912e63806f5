import t from 'tap'
import { Findings } from '../../../src/app/audit/findings.ts'
import { LogChecks } from '../../../src/app/audit/log-checks.ts'
import { advance, isTaskEvent, type TaskState } from '../../../src/app/audit/task-state.ts'
import type { AnyEvent } from '../../../src/domain/any-event.ts'
import type { TaskFamilyRules } from '../../../src/domain/catalog/task-rules.ts'
import type { SettlementLine } from '../../../src/domain/pricing/settlement.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import { settledSuccess } from '../../../src/domain/task/observe.ts'
import { catalog } from '../../../src/families/index.ts'
import { shippedBook, shippedDocument } from '../../domain/pricing/books.ts'
import { Recorder, recordCall, START_MS, taskSteps } from '../../projections/support/history.ts'

/** A settlement is compared with the request, the usage and the book in effect, not with itself. */

const MINUTE_MS = 60_000
const at = (offsetMs: number): string => new Date(START_MS + offsetMs).toISOString()

function audited(): {
  readonly take: (event: AnyEvent, recordedAtMs?: number) => void
  readonly found: () => readonly string[]
} {
  const recorder = new Recorder()
  const findings = new Findings()
  const whole = { log: {} as never, wholeLog: true }
  const checks = new LogChecks(findings, whole, (family, success) =>
    catalog.taskFamily(family).settle(success),
  )
  let task: TaskState | undefined
  return {
    take: (event, recordedAtMs = START_MS) => {
      const recorded = { ...recorder.record('s', event), recordedAt: new Date(recordedAtMs) }
      checks.check(recorded, task)
      if (isTaskEvent(recorded)) task = advance(task, recorded)
    },
    found: () => findings.kept.map(({ code }) => code),
  }
}

const published = (version: string, effectiveFrom: string): AnyEvent => ({
  type: 'PriceBookPublished',
  data: {
    version,
    effectiveFrom,
    publishedAt: at(0),
    digest: version,
    entries: [...shippedDocument.entries],
  },
})

/** What any family may count. */
const usage = {
  completion_tokens: 1_000,
  total_tokens: 1_000,
  input_seconds: 4,
  output_seconds: 6,
  total_seconds: 10,
  character: 70,
  image: 2,
  input: 30,
  output: 40,
  credits: 20,
  'text-input': 10,
  'image-output': 30,
}

/** The life of a task as the gateway settles it; undefined for usage that is none of its model. */
function lifeOf(rules: TaskFamilyRules, model: string): readonly TaskEvent[] | undefined {
  const resolution = rules.family === 'video-b' ? '768P' : '720p'
  const size = rules.family === 'gen' ? '1K' : '1024x1024'
  const pictures = { size, quality: 'high', n: 2, layers: 1, prompt_characters: 70 }
  const facts = {
    inputs: { text: 1, image: 1 },
    tools: [],
    settings: { resolution, duration: 5, characters: 70, ...pictures },
  }
  const quote = rules.quote(model, facts, shippedBook)
  const { requested } = taskSteps({ n: 1 })
  const data = { ...requested.data, family: rules.family, model, facts, quote }
  const request = { ...data, requestedAt: at(0) }
  const seen = { usage, output: { resolution, duration: 5, size } }
  const ends = settledSuccess(rules, { request, nativeId: 'n' }, seen, at(MINUTE_MS))
  return ends && [{ type: 'TaskRequested', data: request }, ...ends]
}

t.test('the bill of each family has no finding, and each change of it has one', (t) => {
  const settled = new Map<string, readonly TaskEvent[]>()
  for (const rules of catalog.taskFamilies.values())
    for (const { name } of rules.models) {
      const life = lifeOf(rules, name)
      if (life === undefined) continue
      settled.set(rules.family, life)
      const clean = audited()
      clean.take(published(shippedBook.version, at(-MINUTE_MS)))
      for (const event of life) clean.take(event)
      t.same(clean.found(), [], name)
    }
  t.same(
    [...settled.keys()].sort(),
    [...catalog.taskFamilies.keys()].sort(),
    'every family settles one',
  )
  const lineChanges: readonly ((line: SettlementLine) => SettlementLine)[] = [
    (line) => ({ ...line, quantity: line.quantity * 1_000 }),
    (line) => ({ ...line, rule: 'another/rule' }),
    (line) => ({ ...line, measurement: 'estimated' }),
  ]
  for (const [family, life] of settled) {
    const [requested, succeeded, settlement] = life
    if (settlement?.type !== 'TaskSettled') return t.fail('it ends with its settlement')
    const { data } = settlement
    const [first, ...rest] = data.settlement.lines
    const codes = (changed: Partial<typeof data>): readonly string[] => {
      const { take, found } = audited()
      take(published(shippedBook.version, at(-MINUTE_MS)))
      take(requested!)
      take(succeeded!)
      take({ type: 'TaskSettled', data: { ...data, ...changed } })
      return found()
    }
    const lines = lineChanges.map((change) => [...(first ? [change(first)] : []), ...rest])
    for (const changed of [...lines, []])
      t.ok(
        codes({ settlement: { ...data.settlement, lines: changed } }).includes(
          'task_settled_otherwise',
        ),
        `${family}: ${JSON.stringify(changed)}`,
      )
    t.ok(codes({ usage: { ...data.usage, extra: 1 } }).includes('task_settled_otherwise'))
    const book = { ...data.settlement, priceBookVersion: 'another' }
    t.ok(codes({ settlement: book }).includes('task_settled_otherwise'))
  }
  t.end()
})

t.test('the price book of a settlement was in effect within two minutes of its start', (t) => {
  const call = recordCall(new Recorder(), 0)
  if (call.type !== 'CallSettled') return t.fail('a call is settled')
  const codes = (startedMs: number, version: string): readonly string[] => {
    const { take, found } = audited()
    take(published('old', at(-10 * MINUTE_MS)))
    // Published when it already ought to be in effect: known from then on.
    take(published('new', at(0)), START_MS + 10 * MINUTE_MS)
    take(published('late', at(60 * MINUTE_MS)), START_MS + 11 * MINUTE_MS)
    const settlement = { ...call.data.settlement, priceBookVersion: version }
    take({ type: 'CallSettled', data: { ...call.data, startedAt: at(startedMs), settlement } })
    return found().filter((code) => code === 'price_book_not_in_effect')
  }
  const wrong = ['price_book_not_in_effect']
  t.same(codes(-11 * MINUTE_MS, 'old'), [], 'clocks differ')
  t.same(codes(-13 * MINUTE_MS, 'old'), wrong)
  t.same(codes(5 * MINUTE_MS, 'old'), [], 'no replica knew the next one')
  t.same(codes(11 * MINUTE_MS, 'old'), [], 'a replica may be late')
  t.same(codes(13 * MINUTE_MS, 'old'), wrong)
  t.same(codes(13 * MINUTE_MS, 'new'), [])
  t.same(codes(57 * MINUTE_MS, 'late'), wrong)
  t.same(codes(59 * MINUTE_MS, 'late'), [])
  t.same(codes(63 * MINUTE_MS, 'new'), wrong)
  t.end()
})
