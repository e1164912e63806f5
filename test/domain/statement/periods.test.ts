import * as fc from 'fast-check'
import t from 'tap'
import { statementDecider } from '../../../src/domain/statement/decider.ts'
import {
  type ClosedPeriod,
  monthAfter,
  periodsIn,
  type StatementsState,
} from '../../../src/domain/statement/periods.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { closeOf, statementsWith } from './periods.ts'

/** A change of the balance, dated and known to the ledger at a position. */
interface Posting {
  readonly atMs: number
  readonly position: bigint
  readonly amountPico: bigint
  readonly figure: 'paid' | 'promotional' | 'usage' | 'grants' | 'expired' | 'settled'
}
const figures = ['paid', 'promotional', 'usage', 'grants', 'expired', 'settled'] as const

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-01-10T00:00:00Z')

/** Steps of a history: time passes, a posting comes (perhaps dated earlier), a month is closed or voided. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('post' as const),
      lateMs: fc.oneof(fc.constant(0), fc.nat({ max: 50 * DAY_MS })),
      amountPico: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
      figure: fc.constantFrom(...figures),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 20 * DAY_MS }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('close' as const),
      zoneHours: fc.integer({ min: -12, max: 14 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const) }) },
)

const isThrough = ({ atMs, position }: Posting, period: ClosedPeriod): boolean =>
  atMs < Date.parse(period.to) && position <= BigInt(period.position)
const isIn = (
  posting: Posting,
  period: ClosedPeriod,
  previous: ClosedPeriod | undefined,
): boolean => isThrough(posting, period) && !(previous && isThrough(posting, previous))

/** The state after an attempt to close the next month by the clock of a zone. */
function closeNext(
  state: StatementsState,
  postings: readonly Posting[],
  { nowMs, position, zoneHours }: { nowMs: number; position: bigint; zoneHours: number },
): StatementsState {
  const last = periodsIn(state, 'CNY').standing.at(-1)
  const month = last === undefined ? '2026-01' : monthAfter(last.month)
  const to = new Date(Date.parse(`${monthAfter(month)}-01T00:00:00Z`) - zoneHours * 3_600_000)
  const bounds = { month, to: to.toISOString(), position: String(position) }
  const empty = closeOf(state, bounds)
  const within = postings.filter((posting) => isIn(posting, empty, last))
  const sumOf = (figure: Posting['figure']): string =>
    formatAmount(
      within.reduce((sum, one) => sum + (one.figure === figure ? one.amountPico : 0n), 0n),
    )
  const closingPico = within.reduce((sum, one) => sum + one.amountPico, parseAmount(empty.opening))
  const data = {
    ...empty,
    granted: { paid: sumOf('paid'), promotional: sumOf('promotional') },
    adjusted: { usage: sumOf('usage'), grants: sumOf('grants') },
    expired: sumOf('expired'),
    settled: sumOf('settled'),
    closing: formatAmount(closingPico),
    postings: within.length,
    late: within.filter(({ atMs }) => atMs < Date.parse(empty.from)).length,
    closedAt: new Date(nowMs).toISOString(),
  }
  try {
    return statementsWith(state, { kind: 'close', data, graceHours: 72 })
  } catch (error) {
    // A change of the zone by a day may end a month before the one before it.
    if (isDomainError(error, 'period_not_over') || isDomainError(error, 'period_position'))
      return state
    throw error
  }
}

function voidLast(state: StatementsState): StatementsState {
  const last = periodsIn(state, 'CNY').standing.at(-1)
  if (last === undefined) return state
  const { currency, month } = last
  const at = '2030-01-01T00:00:00.000Z'
  const by = { tenantId: 'ops', userId: 'bob', tokenId: 'token_bob' }
  const origins = { approver: { users: [by], secretMadeAt: '2026-01-01T00:00:00.000Z' } }
  const asked = { currency, month, at } as const
  const proposed = { kind: 'propose-void', ...asked, reason: 'wrong', lapseHours: 1 } as const
  return statementsWith(statementsWith(state, proposed), {
    kind: 'approve-void',
    ...asked,
    by,
    origins,
  })
}

/** Whether periods follow each other, have each posting once, and add up to the balance. */
function holds(state: StatementsState, postings: readonly Posting[]): boolean {
  const { standing } = periodsIn(state, 'CNY')
  const periodsOf = (posting: Posting): number =>
    standing.filter((period, n) => isIn(posting, period, standing[n - 1])).length
  const open = postings.filter((posting) => periodsOf(posting) === 0)
  const follows = standing.every((period, n) => {
    const before = standing[n - 1]
    if (before === undefined) return period.opening === '0' && period.previous === undefined
    return (
      period.opening === before.closing &&
      period.from === before.to &&
      period.previous?.root === before.root
    )
  })
  const closedPico = parseAmount(standing.at(-1)?.closing ?? '0')
  const balancePico = postings.reduce((sum, one) => sum + one.amountPico, 0n)
  return (
    follows &&
    postings.every((posting) => periodsOf(posting) <= 1) &&
    standing.reduce((sum, { postings: count }) => sum + count, 0) + open.length ===
      postings.length &&
    open.reduce((sum, one) => sum + one.amountPico, closedPico) === balancePico
  )
}

t.test('periods follow each other, have each posting once, and add up to the balance', (t) => {
  let [closes, lates, voids] = [0, 0, 0]
  const property = fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
    let [nowMs, position] = [START_MS, 0n]
    let state = statementDecider.initial
    const postings: Posting[] = []
    for (const each of steps) {
      position += 7n
      const before = state
      if (each.do === 'wait') nowMs += each.ms
      else if (each.do === 'post') {
        const { amountPico, figure } = each
        const atMs = Math.max(START_MS, nowMs - each.lateMs)
        postings.push({ atMs, position, amountPico, figure })
      } else if (each.do === 'void') state = voidLast(state)
      else state = closeNext(state, postings, { nowMs, position, zoneHours: each.zoneHours })
      if (state === before) continue
      if (each.do === 'void') voids += 1
      else closes += 1
      if (each.do === 'close') lates += periodsIn(state, 'CNY').standing.at(-1)?.late ?? 0
    }
    return state.closes >= periodsIn(state, 'CNY').standing.length && holds(state, postings)
  })
  fc.assert(property, { numRuns: propertyRuns(300) })
  t.comment(`${closes} closes with ${lates} late postings, ${voids} voids`)
  t.ok(closes > 0 && lates > 0 && voids > 0, 'the histories had all of it')
  t.end()
})
