import { Value } from '@sinclair/typebox/value'
import { taskEvents, type TaskEvent, type TaskEventData } from '../../../src/domain/task/events.ts'
import { lineAmount, parseAmount } from '../../../src/kernel/money.ts'

/** The promises (`docs/promises.md`) as checks over a task's events; each throws when broken. */

const terminal = new Set(['TaskSucceeded', 'TaskFailed', 'TaskExpired', 'TaskCancelled'])

/** P2: in one decision or not at all. */
export function moneyMovesWithState(decided: readonly TaskEvent[]): void {
  const kinds = decided.map(({ type }) => type)
  if (kinds.includes('TaskSucceeded') !== kinds.includes('TaskSettled'))
    throw new Error('success and settlement came apart')
}

/** P4: settled at most once, every line recomputed from the frozen quote, the amount their sum. */
export function explained(
  events: readonly TaskEvent[],
  quote: TaskEventData<'TaskRequested'>['quote'],
): void {
  const settled = events.filter((event) => event.type === 'TaskSettled')
  if (settled.length > 1) throw new Error('settled twice')
  for (const { data } of settled) {
    const { settlement, usage } = data
    let sum = 0n
    for (const line of settlement.lines) {
      const frozen = quote.candidates.find(({ sku }) => sku === line.sku)
      if (!frozen || frozen.rule !== line.rule) throw new Error(`no frozen price for ${line.sku}`)
      const amount = lineAmount(line.quantity, frozen.price, frozen.per)
      if (amount !== parseAmount(line.amount)) throw new Error('a line does not recompute')
      sum += amount
    }
    if (sum !== parseAmount(settlement.amount)) throw new Error('lines do not add up')
    const unit = usage['completion_tokens'] === undefined ? 'image' : 'token'
    const quantity = settlement.lines.find((line) => line.unit === unit)?.quantity ?? 0
    if (quantity !== (usage['completion_tokens'] ?? usage['image']))
      throw new Error('the quantity is not the usage')
    if (settlement.priceBookVersion !== quote.priceBookVersion) throw new Error('another book')
  }
}

/**
 * P5: whatever did not succeed costs nothing, and an end has nothing but a deletion after it, and
 * where it was given up as never accepted the word that it appeared.
 */
export function failureIsFree(events: readonly TaskEvent[]): void {
  const kinds = events.map(({ type }) => type)
  const end = kinds.findIndex((kind) => terminal.has(kind))
  if (kinds.includes('TaskSettled') && kinds[end] !== 'TaskSucceeded')
    throw new Error(`settled though ${kinds[end]}`)
  const rest = end === -1 ? [] : kinds.slice(end + (kinds[end] === 'TaskSucceeded' ? 2 : 1))
  const givenUp = events.some((event) => event.type === 'TaskFailed' && event.data.absence)
  const allowed = new Set(givenUp ? ['TaskDeleted', 'TaskAppearedLate'] : ['TaskDeleted'])
  if (new Set(rest).size < rest.length || rest.some((kind) => !allowed.has(kind)))
    throw new Error(`${rest.join()} after the end`)
  if (kinds.includes('TaskSubmissionRefused') && kinds.at(-1) !== 'TaskSubmissionRefused')
    throw new Error('something after a refusal')
}

export function persistable(events: readonly TaskEvent[]): void {
  for (const { type, data } of events)
    if (!Value.Check(taskEvents[type], data)) throw new Error(`${type} does not fit its schema`)
}
