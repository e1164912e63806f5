import { type PeriodClosed, type StatementEvent } from '../../../src/domain/statement/events.ts'
import { statementDecider, type StatementCommand } from '../../../src/domain/statement/decider.ts'
import { nextPeriod, type StatementsState } from '../../../src/domain/statement/periods.ts'
import type { Currency } from '../../../src/kernel/money.ts'

/** Months of a tenant in tests of closes. */

export const FIRST = { month: '2026-01', from: '2026-01-01T00:00:00+08:00' } as const

/** A close of the next month that is empty, with other members where they are given. */
export function closeOf(
  state: StatementsState,
  more: Partial<PeriodClosed> = {},
  currency: Currency = 'CNY',
): PeriodClosed {
  const next = nextPeriod(state, currency, 'ACME', FIRST)
  const [year = 0, month = 0] = next.month.split('-').map(Number)
  const end = new Date(Date.UTC(year, month)).toISOString().slice(0, 10)
  return {
    tenantId: 'tenant_1',
    currency,
    ...next,
    timeZone: 'Asia/Shanghai',
    to: `${end}T00:00:00+08:00`,
    position: '100',
    granted: { paid: '0', promotional: '0' },
    adjusted: { usage: '0', grants: '0' },
    expired: '0',
    settled: '0',
    closing: next.opening,
    lines: 0,
    postings: 0,
    late: 0,
    sums: [],
    refunds: [],
    accruals: { held: '0', unstated: '0' },
    profile: 1,
    issuer: 1,
    root: `root ${state.closes + 1}`,
    checkpoint: 'checkpoint\n',
    closedAt: `${end.slice(0, 8)}20T00:00:00.000Z`,
    ...more,
  }
}

/** The state after the events that a command decides to. */
export function statementsWith(state: StatementsState, command: StatementCommand): StatementsState {
  return statementDecider
    .decide(command, state)
    .reduce<StatementsState>(
      (now, event: StatementEvent) => statementDecider.evolve(now, event),
      state,
    )
}

/** The state after a number of empty months in CNY. */
export function closedMonths(count: number): StatementsState {
  let state = statementDecider.initial
  for (let n = 0; n < count; n += 1)
    state = statementsWith(state, { kind: 'close', data: closeOf(state), graceHours: 72 })
  return state
}
