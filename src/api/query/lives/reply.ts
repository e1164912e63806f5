import type { Static } from 'typebox'
import { oneLine } from '../../../kernel/plain-text.ts'
import type { LifeSchema } from './schemas.ts'

/** The reply that may be sent to a customer: plain words, with no account, no channel and no rule of prices. */

type ShownLife = Static<typeof LifeSchema>
type Receipt = NonNullable<ShownLife['receipt']>

const howOften = ['', 'once', 'twice', 'three times', 'four times']
const often = (times: number): string => howOften[times] ?? `${times} times`

/** A time of the reader's zone in words: `2026-11-26 09:49:15 UTC`. */
function timeWords(timestamp: string): string {
  const zone = timestamp.slice(19).replace(/^\.\d+/, '')
  return `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)} ${zone === 'Z' ? 'UTC' : `UTC${zone}`}`
}

/** Amounts that the same request cost when it was sent again. */
function repeatedAmounts({ related }: ShownLife): readonly string[] {
  return related.flatMap(({ why, amount }) =>
    (why === 'same_body' || why === 'retry') && amount !== null && amount !== '0' ? [amount] : [],
  )
}

/** What the customer was charged, with the same request sent again. */
function chargeWords(life: ShownLife, { amount, adjusted, net, currency }: Receipt): string[] {
  const money = (text: string): string => `${text} ${currency ?? ''}`.trim()
  const amounts = [amount, ...repeatedAmounts(life)].filter((one) => one !== '0')
  const refund =
    adjusted === '0'
      ? []
      : [
          `${money(adjusted)} of this request was refunded: ${net === '0' ? 'you pay nothing for it' : `you pay ${money(net)} for it`}.`,
        ]
  if (amounts.length === 0) return ['You were not charged.']
  if (amounts.length === 1) return [`You were charged ${money(amounts[0] ?? '0')} once.`, ...refund]
  const isEqual = amounts.every((one) => one === amount)
  const charged = isEqual
    ? `You were charged ${money(amount)} ${often(amounts.length)}`
    : `You were charged ${often(amounts.length)}: ${amounts.map(money).join(', ')}`
  return [
    `${charged}, because the same request was sent ${often(amounts.length)}.`,
    ...refund,
    'With an Idempotency-Key a request that is sent again is made and charged once.',
  ]
}

/** Why a request has no result, as far as a customer needs to know. */
function failureWords({ steps }: ShownLife): string {
  const last = steps.findLast(({ state }) => state === 'failed')
  if (last === undefined) return 'It has no result.'
  const detail = last.detail === '' ? '' : ` (${last.detail})`
  return `It has no result: ${last.title}${detail}.`
}

/** Whether the result is kept, in words; `timeOf` writes its time. */
export function resultWords(
  { what, kept_by: keptBy, until }: NonNullable<ShownLife['result']>,
  timeOf: (timestamp: string) => string = timeWords,
): string {
  const time = until === null ? '' : timeOf(until)
  if (keptBy === null) return 'The answer was sent, and is not kept.'
  if (what === 'answer')
    return `The answer is kept for the same Idempotency-Key, at most until ${time}.`
  if (what === 'files') return `Files that the answer links to are kept until ${time}.`
  if (keptBy === 'gateway') return `The result is kept until ${time}.`
  return until === null
    ? 'The provider has the result; how long is up to its terms.'
    : `The provider has the result; its links end at ${time}.`
}

function moneyWords(life: ShownLife, receipt: Receipt): string[] {
  const { state, deadline_at: deadline } = life
  const held = receipt.held === '0' ? '' : `${receipt.held} ${receipt.currency ?? ''}`
  const until = deadline === null ? '' : ` at the latest at ${timeWords(deadline)}`
  switch (state) {
    case 'settled':
      return ['It was completed.', ...chargeWords(life, receipt)]
    case 'not_billed':
      return [failureWords(life), ...chargeWords(life, { ...receipt, amount: '0' })]
    case 'running':
      return ['It is still running.', ...(held === '' ? [] : [`${held} is held until it ends.`])]
    case 'awaiting_usage':
      return [
        `It was completed, and its price is not known yet. ${held} is held until it is, or is released${until}.`,
      ]
    default:
      return [
        `We do not know yet whether it was accepted. ${held} is held until we do, or is released${until}.`,
      ]
  }
}

/** The reply about a life whose steps are those that customers may read. */
export function replyOf(life: ShownLife, verdict: string): string {
  const { receipt, id, result } = life
  const steps = life.steps.filter(({ types }) => !types.includes('NotePosted'))
  const [first] = steps
  const when = first === undefined ? '' : ` of ${timeWords(first.started_at ?? first.at)}`
  if (receipt === null) return [`About ${id}${when}:`, verdict].map(oneLine).join('\n')
  return [
    `About your request${when} to ${receipt.model}:`,
    ...moneyWords({ ...life, steps }, receipt),
    ...(result === null ? [] : [resultWords(result)]),
    `Id: ${id}. Request: ${receipt.request_id}.`,
  ]
    .map(oneLine)
    .join('\n')
}
