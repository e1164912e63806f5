import { moneyEffectsOf } from '../../domain/any-event.ts'
import type { LineRefund } from '../../../projections/ledger/query.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { formulaOf } from '../finance/receipts/receipt.ts'
import { stepWordsOf, type StepWords } from './step-words.ts'

/**
 * The steps of a life: each has what happened, who said so, and what it moved of money. A step is an event, or the
 * events of one append.
 */

/** Words of the API. `given back` is a refund, and `taken back` a part of a refund that is charged again. */
export type MoneyWord = 'held' | 'charged' | 'freed' | 'given back' | 'taken back' | 'not charged'

/** One thing that a step did to money; the amount is a decimal without a sign. */
export interface StepMoney {
  readonly word: MoneyWord
  readonly amount: string
}

/** The money of a life after a step, as decimals. */
export interface MoneyAfter {
  readonly held: string
  readonly charged: string
  readonly givenBack: string
  /** `charged` less `givenBack`. */
  readonly net: string
}

export interface Step extends StepWords {
  /** 1, 2, 3, … */
  readonly n: number
  /** Decimal position in the log of its last event. */
  readonly position: string
  /** Events of one append are one step. */
  readonly types: readonly string[]
  /** Time at which the log recorded it, Unix milliseconds. */
  readonly atMs: number
  /** Begin of a step that lasted, such as a call, Unix milliseconds. */
  readonly startedAtMs: number | undefined
  /** Time since the step before it, in milliseconds; 0 for the first. */
  readonly waitMs: number
  readonly money: readonly StepMoney[]
  /** How each line of a charge was calculated. */
  readonly formulas: readonly string[]
  readonly after: MoneyAfter
  /** Person or command that posted it, for operators. */
  readonly actor: string | undefined
}

/** The running sums of a life, in pico. */
interface Sums {
  readonly held: bigint
  readonly charged: bigint
  readonly given: bigint
}

const NO_MONEY: Sums = { held: 0n, charged: 0n, given: 0n }

/** A step without its number. */
type Draft = Omit<Step, 'n' | 'waitMs' | 'after'> & { readonly sums: Sums }

const notCharged = (amount: string | undefined): readonly StepMoney[] =>
  amount === undefined ? [] : [{ word: 'not charged', amount }]

/** Moves money as the facts of the event say, which the ledger follows too. */
function moved(event: RecordedEvent, before: Sums): Pick<Draft, 'money' | 'formulas' | 'sums'> {
  const money: StepMoney[] = []
  const formulas: string[] = []
  let { held, charged } = before
  let isHoldEnded = false
  for (const movement of moneyEffectsOf(event)) {
    if (movement.kind === 'hold_placed') {
      held += parseAmount(movement.amount)
      money.push({ word: 'held', amount: movement.amount })
    }
    if (movement.kind === 'hold_ended') isHoldEnded = true
    if (movement.kind !== 'settled') continue
    const { amount, lines } = movement.settled.settlement
    charged += parseAmount(amount)
    money.push({ word: 'charged', amount })
    formulas.push(...lines.map(formulaOf))
  }
  if (isHoldEnded) {
    const rest = held - (charged - before.charged)
    if (rest > 0n) money.push({ word: 'freed', amount: formatAmount(rest) })
    held = 0n
  }
  if (event.type === 'CallFailed') money.push(...notCharged(event.data.absorbed?.settlement.amount))
  if (event.type === 'CallWrittenOff') money.push(...notCharged(event.data.unbilled?.amount))
  return { money, formulas, sums: { held, charged, given: before.given } }
}

function eventStep(event: RecordedEvent, before: Sums): Draft {
  const isCall = event.type === 'CallSettled' || event.type === 'CallFailed'
  return {
    ...stepWordsOf(event),
    ...moved(event, before),
    position: String(event.position),
    types: [event.type],
    atMs: event.recordedAt.getTime(),
    startedAtMs: isCall ? fromTimestamp(event.data.startedAt) : undefined,
    actor: event.metadata.actor,
  }
}

function refundStep(one: LineRefund, before: Sums): Draft {
  const pico = parseAmount(one.amount)
  const isGiven = pico >= 0n
  const amount = formatAmount(isGiven ? pico : -pico)
  return {
    by: 'operator',
    title: isGiven ? 'refunded' : 'refund taken back',
    detail: one.reason,
    state: 'moved',
    position: one.position,
    types: ['AdjustmentPosted'],
    atMs: one.postedAtMs,
    startedAtMs: undefined,
    money: [{ word: isGiven ? 'given back' : 'taken back', amount }],
    formulas: [],
    sums: { ...before, given: before.given + pico },
    actor: one.actor ?? undefined,
  }
}

function shownSums({ held, charged, given }: Sums): MoneyAfter {
  return {
    held: formatAmount(held),
    charged: formatAmount(charged),
    givenBack: formatAmount(given),
    net: formatAmount(charged - given),
  }
}

/** A success and its settlement are one append, and one step. */
function joined(before: Draft, settled: Draft): Draft {
  const { detail, startedAtMs, types } = before
  const title = 'succeeded and settled'
  return {
    ...settled,
    by: before.by,
    title,
    detail,
    startedAtMs,
    types: [...types, ...settled.types],
  }
}

/**
 * The steps of a life, oldest first: its events, those of one append together, and the refunds
 * of what it was charged.
 */
export function stepsOf(
  events: readonly RecordedEvent[],
  refunds: readonly LineRefund[],
): readonly Step[] {
  const drafts: Draft[] = []
  const sums = (): Sums => drafts.at(-1)?.sums ?? NO_MONEY
  const ordered = [
    ...events.map((event) => ({ position: event.position, draft: () => eventStep(event, sums()) })),
    ...refunds.map((one) => ({
      position: BigInt(one.position),
      draft: () => refundStep(one, sums()),
    })),
  ].toSorted((a, b) => Number(a.position - b.position))
  for (const { draft } of ordered) {
    const step = draft()
    const before = drafts.at(-1)
    if (before?.types.at(-1) === 'TaskSucceeded' && step.types[0] === 'TaskSettled')
      drafts[drafts.length - 1] = joined(before, step)
    else drafts.push(step)
  }
  return drafts.map(({ sums: after, ...step }, index) => ({
    ...step,
    n: index + 1,
    waitMs: step.atMs - (drafts[index - 1]?.atMs ?? step.atMs),
    after: shownSums(after),
  }))
}
