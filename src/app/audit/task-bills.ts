import type { TaskSuccess } from '../../domain/catalog/task-rules.ts'
import type { Settlement } from '../../domain/pricing/settlement.ts'
import type { TaskEventData } from '../../domain/task/events.ts'
import type { SettleTask, TaskState } from './task-state.ts'

/**
 * Describes a settlement that differs from the cost of the task's request, usage and result;
 * undefined if it is right. The rules of the family decide the counted quantities and which quoted
 * prices apply; the auditor computes the amounts independently.
 */
export function billFault(
  { usage, settlement }: Pick<TaskEventData<'TaskSettled'>, 'usage' | 'settlement'>,
  { family, model, facts, quote, succeeded }: TaskState,
  settleTask: SettleTask,
): string | undefined {
  const { priceBookVersion, currency } = settlement
  if (priceBookVersion !== quote.priceBookVersion || currency !== quote.currency)
    return `settled in ${currency} by ${priceBookVersion}, quoted in ${quote.currency} by ${quote.priceBookVersion}`
  if (succeeded === undefined) return undefined
  if (figuresOf(usage) !== figuresOf(succeeded.usage))
    return `settled for ${figuresOf(usage)}, its success used ${figuresOf(succeeded.usage)}`
  const due = settledBy(settleTask, family, {
    model,
    facts,
    quote,
    usage,
    output: succeeded.output,
  })
  if (typeof due === 'string') return due
  const [billed, owed] = [linesOf(settlement), linesOf(due)]
  return billed === owed ? undefined : `billed ${billed}; it comes to ${owed}`
}

/** Settles a success by the rules of its family; returns a text if they refuse. */
function settledBy(
  settleTask: SettleTask,
  family: string,
  success: TaskSuccess,
): Settlement | string {
  try {
    return settleTask(family, success) ?? `the rules of ${family} settle nothing for this usage`
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return `the rules of ${family} refuse it: ${why}`
  }
}

function figuresOf(usage: Readonly<Record<string, number>>): string {
  const used = Object.entries(usage).map(([unit, count]) => `${count} ${unit}`)
  return used.sort().join(', ') || 'nothing'
}

function linesOf({ lines }: Settlement): string {
  const said = lines.map(
    ({ sku, rule, quantity, unit, measurement }) =>
      `${quantity} ${unit} of ${sku} (${measurement}, ${rule})`,
  )
  return said.join(', ') || 'nothing'
}
