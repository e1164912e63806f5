import * as fc from 'fast-check'
import t from 'tap'
import type { Reservation } from '../../../src/app/spending/reservation.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { startBook } from '../calls/support/book.ts'
import { createInterleaver } from './support/interleaver.ts'

const book = await startBook(t)
const { pool } = book

const CREDIT = 100n
/** More than a twentieth of the credit: every hold is decided under the lock. */
const LEAST_HOLD = 6
let tenants = 0
/** Of the last event of the log. */
let logEnd = 0n

type Step =
  | {
      readonly kind: 'hold'
      readonly replica: 0 | 1
      readonly pico: number
      readonly later: boolean
    }
  | { readonly kind: 'exchange'; readonly replica: 0 | 1 }
  | { readonly kind: 'settle'; readonly which: number }
  | { readonly kind: 'project' }

const replica = fc.constantFrom<0 | 1>(0, 1)
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
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record<Step & { kind: 'settle' }>({
        kind: fc.constant('settle'),
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

/** Carries out steps at once in the order that `choices` make; what was admitted in all. */
async function carryOut(all: readonly Step[], choices: readonly number[]): Promise<bigint> {
  const tenantId = `tenant-${(tenants += 1)}`
  await book.project({ tenantId, creditPico: CREDIT, position: logEnd })
  const order = createInterleaver()
  const replicas = [0, 1].map(() => book.replica({ pool: order.pool(pool) }))
  const open: { readonly hold: Reservation; readonly pico: bigint }[] = []
  let admittedPico = 0n
  let settledPico = 0n

  const carry = async (step: Step): Promise<void> => {
    await order.gate()
    switch (step.kind) {
      case 'hold': {
        const { funds, pass } = replicas[step.replica]!
        // What is known is too old, and read again.
        if (step.later) pass(2_500)
        const pico = BigInt(step.pico)
        try {
          const hold = await funds.reserve(tenantId, 'USD', pico)
          admittedPico += pico
          open.push({ hold, pico })
        } catch (error) {
          if (!isDomainError(error, 'insufficient_balance')) throw error
        }
        return
      }
      case 'exchange':
        return replicas[step.replica]!.exchange()
      case 'settle': {
        const [ended] = open.splice(step.which % Math.max(1, open.length), 1)
        if (ended === undefined) return
        const position = (logEnd += 1n)
        settledPico += ended.pico
        // The ledger may be quicker than the log's answer.
        await order.gate()
        ended.hold.commit({ amountPico: ended.pico, tokens: 0, position: position })
        return
      }
      case 'project':
        await order.outside(project(tenantId, settledPico))
    }
  }
  let turn = 0
  const running = all.map(carry)
  await order.run(running, (of) => {
    for (const { pass } of replicas) pass(0.01)
    const choice = choices[turn % choices.length] ?? 0
    turn += 1
    return choice % of
  })
  await Promise.all(running)
  return admittedPico
}

/** The ledger has all that the log has. */
async function project(tenantId: string, settledPico: bigint): Promise<void> {
  await pool.query(
    `with settled as (update ledger.balances set settled = $2, position = $3 where tenant_id = $1)
     update engine.checkpoints set commit = $3, prepare = $3 where name = 'ledger'`,
    [tenantId, formatAmount(settledPico), logEnd],
  )
}

t.test(
  'however holds, exchanges, settlements and the ledger interleave on two replicas, no more is admitted than there is',
  async (t) => {
    let inAllPico = 0n
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.nat(30), { minLength: 1, maxLength: 60 }),
        async (some, choices) => {
          const admitted = await carryOut(some, choices)
          inAllPico += admitted
          if (admitted > CREDIT) throw new Error(`${admitted} of ${CREDIT} admitted`)
        },
      ),
      { numRuns: propertyRuns(50) },
    )
    t.ok(inAllPico > 0n, 'and something is')
  },
)
