import * as fc from 'fast-check'
import type { Pool } from 'pg'
import t from 'tap'
import type { Reservation } from '../../../src/app/spending/reservation.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { startBook } from '../calls/support/book.ts'
import { createInterleaver } from './support/interleaver.ts'

const book = await startBook(t)
const { pool } = book

const REPLICAS = [0, 1, 2] as const
const CREDIT = 100n
/** More than a twentieth of the credit: every hold is decided under the lock. */
const LEAST_HOLD = 6
let tenants = 0
/** Of the last event of the log. */
let logEnd = 0n

type Step =
  | {
      readonly kind: 'hold'
      readonly replica: Replica
      readonly pico: number
      readonly later: boolean
    }
  | { readonly kind: 'exchange'; readonly replica: Replica; readonly answer: 'arrives' | 'is lost' }
  | { readonly kind: 'settle' | 'release'; readonly which: number }
  | { readonly kind: 'project' }
type Replica = (typeof REPLICAS)[number]

const replica = fc.constantFrom(...REPLICAS)
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record<Step & { kind: 'hold' }>({
        kind: fc.constant('hold'),
        replica,
        pico: fc.oneof(fc.integer({ min: LEAST_HOLD, max: 100 }), fc.constantFrom(LEAST_HOLD, 90)),
        later: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record<Step & { kind: 'exchange' }>({
        kind: fc.constant('exchange'),
        replica,
        answer: fc.constantFrom('arrives', 'arrives', 'is lost'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record<Step & { kind: 'settle' | 'release' }>({
        kind: fc.constantFrom('settle', 'settle', 'release'),
        which: fc.nat(9),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record<Step & { kind: 'project' }>({ kind: fc.constant('project') }),
    },
  ),
  { minLength: 3, maxLength: 12 },
)

/** What was carried out: the most that was held and settled at a time, and what is left at the end. */
interface RunResult {
  readonly mostPico: bigint
  readonly settledPico: bigint
}

/** A replica over a pool whose answers wait to be chosen; some are lost on their way. */
function replicaOver(own: Pool) {
  let isLosing = false
  const losing = new Proxy(own, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'query') return value.bind(target)
      return async (...query: readonly unknown[]) => {
        const isLost = isLosing
        const answer: unknown = await value.apply(target, query)
        if (isLost) throw new Error('the answer was lost')
        return answer
      }
    },
  })
  const { funds, exchange, pass } = book.replica({ pool: losing })
  return {
    funds,
    exchange,
    pass,
    /** Postgres does it, and the replica does not learn that it did. */
    exchangeAndLose: async (): Promise<void> => {
      isLosing = true
      const exchanged = exchange()
      isLosing = false
      await exchanged.catch(() => undefined)
    },
  }
}

/** Carries out steps at once in the order that `choices` make. */
async function carryOut(all: readonly Step[], choices: readonly number[]): Promise<RunResult> {
  const tenantId = `tenant-${(tenants += 1)}`
  await book.project({ tenantId, creditPico: CREDIT, position: logEnd })
  const order = createInterleaver()
  const replicas = REPLICAS.map(() => replicaOver(order.pool(pool)))
  const open: { readonly hold: Reservation; readonly pico: bigint }[] = []
  let [mostPico, heldPico, settledPico] = [0n, 0n, 0n]
  const pendingHolds = new Set<Promise<void>>()

  const hold = async ({ replica, pico: number, later }: Step & { kind: 'hold' }): Promise<void> => {
    const { funds, pass } = replicas[replica]!
    // What is known is too old, and read again.
    if (later) pass(2_500)
    const pico = BigInt(number)
    try {
      const reservation = await funds.reserve(tenantId, 'USD', pico)
      heldPico += pico
      open.push({ hold: reservation, pico })
      const usedPico = heldPico + settledPico
      if (usedPico > mostPico) mostPico = usedPico
    } catch (error) {
      if (!isDomainError(error, 'insufficient_balance')) throw error
    }
  }
  /** Takes one of the open holds, or the first of those on their way; none if all were refused. */
  const takeOpen = async (which: number) => {
    while (open.length === 0 && pendingHolds.size > 0) await Promise.race(pendingHolds)
    return open.splice(which % Math.max(1, open.length), 1)[0]
  }
  const carry = async (step: Step): Promise<void> => {
    await order.gate()
    switch (step.kind) {
      case 'hold': {
        const pending = hold(step)
        pendingHolds.add(pending)
        return pending.finally(() => pendingHolds.delete(pending))
      }
      case 'exchange': {
        const { exchange, exchangeAndLose } = replicas[step.replica]!
        return step.answer === 'arrives' ? exchange() : exchangeAndLose()
      }
      case 'settle': {
        const ended = await takeOpen(step.which)
        if (ended === undefined) return
        const position = (logEnd += 1n)
        heldPico -= ended.pico
        settledPico += ended.pico
        // The ledger may be quicker than the log's answer.
        await order.gate()
        ended.hold.commit({ amountPico: ended.pico, tokens: 0, position: position })
        return
      }
      case 'release': {
        const ended = await takeOpen(step.which)
        if (ended === undefined) return
        heldPico -= ended.pico
        ended.hold.release('failed')
        return
      }
      case 'project':
        await order.outside(project(tenantId, settledPico))
    }
  }
  let turn = 0
  const pick = (of: number): number => {
    for (const { pass } of replicas) pass(0.01)
    const choice = choices[turn % choices.length] ?? 0
    turn += 1
    return choice % of
  }
  const running = all.map(carry)
  await order.run(running, pick)
  await Promise.all(running)
  for (const { hold } of open) hold.release('failed')
  const exchanges = replicas.map(async ({ exchange }) => {
    await exchange()
    await exchange()
  })
  await order.run(exchanges, pick)
  await leftIs(tenantId, CREDIT - settledPico)
  return { mostPico, settledPico }
}

/** A replica that knows nothing yet may hold what is left, and no more. */
async function leftIs(tenantId: string, leftPico: bigint): Promise<void> {
  const { funds } = book.replica()
  if (leftPico > 0n) (await funds.reserve(tenantId, 'USD', leftPico)).release('failed')
  const more = await funds.reserve(tenantId, 'USD', leftPico + 1n).then(
    () => 'admitted',
    (error: unknown) => (isDomainError(error, 'insufficient_balance') ? 'refused' : String(error)),
  )
  if (more !== 'refused') throw new Error(`${leftPico} are left, and one more is ${more}`)
}

/** The ledger has all that the log has. */
async function project(tenantId: string, settledPico: bigint): Promise<void> {
  await pool.query(
    `with settled as (update ledger.balances set settled = $2, position = $3 where tenant_id = $1)
     update engine.checkpoints set commit = $3, prepare = $3 where name = 'ledger'`,
    [tenantId, formatAmount(settledPico), logEnd],
  )
}

/**
 * What a replica held and has released is still known to the others by its last answered report, while its next one
 * has reached Postgres: another takes it there, and the replica must not take it as well.
 */
const reportOvertaken: Step[] = [
  { kind: 'exchange', replica: 0, answer: 'arrives' },
  { kind: 'hold', replica: 0, pico: 43, later: false },
  { kind: 'release', which: 0 },
  { kind: 'exchange', replica: 0, answer: 'arrives' },
  { kind: 'exchange', replica: 0, answer: 'arrives' },
  { kind: 'exchange', replica: 2, answer: 'arrives' },
  { kind: 'exchange', replica: 2, answer: 'arrives' },
  { kind: 'hold', replica: 2, pico: 56, later: false },
  { kind: 'settle', which: 0 },
  { kind: 'settle', which: 0 },
  { kind: 'settle', which: 0 },
  { kind: 'hold', replica: 0, pico: 45, later: false },
]

t.test(
  'for any interleaving of holds, exchanges, settlements and ledger on three replicas, the overspend is bounded and no settlement is lost',
  async (t) => {
    let [heldPico, settledPico] = [0n, 0n]
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.nat(30), { minLength: 1, maxLength: 60 }),
        async (some, choices) => {
          const outcome = await carryOut(some, choices)
          heldPico += outcome.mostPico
          settledPico += outcome.settledPico
          if (outcome.mostPico > CREDIT) throw new Error(`${outcome.mostPico} of ${CREDIT} used`)
        },
      ),
      { numRuns: propertyRuns(50), examples: [[reportOvertaken, [13]]] },
    )
    t.ok(heldPico > 0n, 'something is held')
    t.ok(settledPico > 0n, 'something is settled')
  },
)
