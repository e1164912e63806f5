import t from 'tap'
import { foldLedger } from '../../../projections/ledger/fold/fold.ts'
import { ledgerEffect, type BalanceChange } from '../../../src/app/audit/expected-ledger.ts'
import type { TaskState } from '../../../src/app/audit/task-state.ts'
import { Findings } from '../../../src/app/audit/findings.ts'
import { LogChecks } from '../../../src/app/audit/log-checks.ts'
import { advance, isTaskEvent } from '../../../src/app/audit/task-state.ts'
import { moneyEffectsOf, movingTypes, sourceOf } from '../../../src/domain/any-event.ts'
import type { MoneyEffect } from '../../../src/domain/event-facts.ts'
import type { Quote } from '../../../src/domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { decodeFixture, eventFixtures } from '../../helpers/event-fixtures.ts'

/** The facts of an event say what it moves; the audit has its own account, and reads none of them. */

const TENANT = 'tenant_1'
const HOLD = '3.25'
const events = eventFixtures.map(decodeFixture)

/** The task of an event, before anything ended it. */
function openTask(event: RecordedEvent): TaskState {
  const quote: Quote = { priceBookVersion: 'v', currency: 'CNY', candidates: [], hold: HOLD }
  const platformId = sourceOf(event) ?? ''
  const of = { platformId, tenantId: TENANT, userId: 'user_1', tokenId: 'token_1', quote }
  return {
    ...of,
    family: 'video-a',
    model: 'domestic-video-2-5',
    facts: { inputs: {}, tools: [], settings: {} },
    requestedAt: '2026-01-02T03:04:05.000Z',
    open: true,
    settled: false,
    succeeded: undefined,
  }
}

/** What movements add to a balance, of which `HOLD` is held. */
function balanceOf(moves: readonly MoneyEffect[]): Omit<BalanceChange, 'tenantId' | 'currency'> {
  const sums: {
    granted?: bigint
    adjusted?: bigint
    refunded?: bigint
    settled?: bigint
    held?: bigint
    limit?: bigint
  } = {}
  for (const move of moves)
    if (move.kind === 'hold_placed') sums.held = parseAmount(move.amount)
    else if (move.kind === 'hold_ended') sums.held = -parseAmount(HOLD)
    else if (move.kind === 'settled') sums.settled = parseAmount(move.settled.settlement.amount)
    else if (move.kind === 'limit_set') sums.limit = parseAmount(move.limit)
    else {
      sums[move.kind] = parseAmount(move.amount)
      if (move.kind === 'adjusted' && move.corrects.kind === 'line')
        sums.refunded = parseAmount(move.amount)
    }
  return sums
}

t.test('the audit and the facts of every event agree on which events move money', (t) => {
  let moving = 0
  for (const event of events) {
    const moves = moneyEffectsOf(event)
    const effect = ledgerEffect(event, openTask(event))
    t.equal(effect !== undefined, moves.length > 0, event.type)
    t.equal(movingTypes.has(event.type), moves.length > 0, event.type)
    if (effect === undefined) continue
    moving += 1
    const { tenantId, currency, ...sums } = effect.balance ?? { tenantId: '', currency: '' }
    const moved = Object.entries(sums).filter(([, pico]) => pico !== 0n)
    t.same(Object.fromEntries(moved), balanceOf(moves), `${event.type} moves the same`)
    t.equal(tenantId, TENANT, event.type)
    for (const move of moves) if ('currency' in move) t.equal(currency, move.currency, event.type)
  }
  t.ok(moving >= 10, `${moving} of ${events.length} events move money`)
  t.end()
})

t.test(
  'the audit expects the entries, lines and rows that the ledger makes of every event',
  (t) => {
    for (const event of events) {
      const { platformId: sourceId, quote } = openTask(event)
      const effect = ledgerEffect(
        event,
        event.type.startsWith('Task') ? openTask(event) : undefined,
      )
      const hold = {
        sourceId,
        tenantId: TENANT,
        currency: quote.currency,
        amountPico: parseAmount(HOLD),
      }
      const change = foldLedger([event], event.type === 'TaskRequested' ? [] : [hold])
      t.same(
        change.entries.map((entry) => ({
          position: entry.position,
          n: entry.n,
          kind: entry.kind,
          source_id: entry.sourceId,
          tenant_id: entry.tenantId,
          currency: entry.currency,
          debit: entry.debit,
          credit: entry.credit,
          amount: formatAmount(entry.amountPico),
        })),
        effect?.entries ?? [],
        `entries of ${event.type}`,
      )
      const ids = (rows: readonly Readonly<Record<string, unknown>>[] = [], column: string) =>
        rows.map((row) => row[column])
      t.same(
        change.lines.map(({ lineId }) => lineId),
        ids(effect?.lines, 'line_id'),
        event.type,
      )
      t.same(
        change.settlements.map((one) => one.sourceId),
        ids(effect?.settlements, 'source_id'),
      )
      t.same(
        change.grants.map(({ grantId }) => grantId),
        ids(effect?.grants, 'grant_id'),
      )
      t.same(
        change.adjustments.map(({ adjustmentId }) => adjustmentId),
        ids(effect?.adjustments, 'adjustment_id'),
      )
    }
    t.end()
  },
)

t.test('the audit expects no hold to end of a task that has ended', (t) => {
  const ends = events.filter((event) =>
    moneyEffectsOf(event).some(({ kind }) => kind === 'hold_ended'),
  )
  t.ok(ends.length >= 5, `${ends.length} events end a hold`)
  for (const event of ends) {
    const effect = ledgerEffect(event, { ...openTask(event), open: false })
    t.equal(effect?.balance?.held ?? 0n, 0n, event.type)
  }
  t.end()
})

t.test('a task is settled for the tenant, user and token that requested it', (t) => {
  const requested = events.find(({ type }) => type === 'TaskRequested')
  const settlement = events.find(({ type }) => type === 'TaskSettled')
  if (requested === undefined || settlement?.type !== 'TaskSettled')
    return t.fail('there are fixtures of both')
  const task = isTaskEvent(requested) ? advance(undefined, requested) : undefined
  if (task === undefined) return t.fail('a request begins a task')
  const { tenantId, userId, tokenId } = task
  const found = (changes: Partial<typeof settlement.data>) => {
    const findings = new Findings()
    const whole = { log: {} as never, wholeLog: true }
    const data = { ...settlement.data, tenantId, userId, tokenId, ...changes }
    new LogChecks(findings, whole).check({ ...settlement, data }, task)
    return findings.kept.filter(({ code }) => code === 'settled_for_another').length
  }
  t.equal(found({}), 0)
  for (const owner of ['tenantId', 'userId', 'tokenId'] as const)
    t.equal(found({ [owner]: 'another' }), 1, owner)
  t.end()
})
